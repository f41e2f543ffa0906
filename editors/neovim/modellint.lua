-- modellint in Neovim (0.7 and later), without plugins. Put this file on the runtime path as lua/modellint.lua, and
-- `require("modellint").setup()` into init.lua. Keys for actions and hovers are those of every other language server.
local M = {}

local MARKS = { ".modellint.yaml", ".modellint.yml", "pyproject.toml", "setup.py", "Cargo.toml", ".git" }

local function root(name)
  local folder = vim.fn.fnamemodify(name, ":p:h")
  while true do
    for _, mark in ipairs(MARKS) do
      if vim.fn.getftype(folder .. "/" .. mark) ~= "" then
        return folder
      end
    end
    local parent = vim.fn.fnamemodify(folder, ":h")
    if parent == folder then
      return vim.fn.fnamemodify(name, ":p:h")
    end
    folder = parent
  end
end

-- options.cmd: the command that starts the server; options.settings: what the server takes (see docs/editors.md).
function M.setup(options)
  options = options or {}
  local clients = {}
  vim.api.nvim_create_autocmd("FileType", {
    pattern = { "python", "rust" },
    callback = function(event)
      local name = vim.api.nvim_buf_get_name(event.buf)
      local folder = root(name)
      if clients[folder] == nil or vim.lsp.get_client_by_id(clients[folder]) == nil then
        clients[folder] = vim.lsp.start_client({
          name = "modellint",
          cmd = options.cmd or { "modellint", "server" },
          root_dir = folder,
          workspace_folders = { { uri = vim.uri_from_fname(folder), name = folder } },
          init_options = { settings = options.settings or vim.empty_dict() },
        })
      end
      vim.lsp.buf_attach_client(event.buf, clients[folder])
    end,
  })
  -- runs the models of the configuration in the background; what is found comes as diagnostics
  vim.api.nvim_create_user_command("ModellintTrace", function()
    for _, id in pairs(clients) do
      local client = vim.lsp.get_client_by_id(id)
      if client ~= nil then
        client.request("workspace/executeCommand", { command = "modellint.trace" }, function() end, 0)
        return
      end
    end
  end, {})
end

return M
