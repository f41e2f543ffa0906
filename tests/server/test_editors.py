"""The recipes under editors/, in the editors themselves where they are installed."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.server.programs import CONFIGURED, FORGOTTEN, TRAINING

EDITORS = Path(__file__).parents[2] / "editors"
PACKAGES = ("--eval", "(progn (require 'package) (package-initialize))")
NEOVIM = """\
vim.opt.runtimepath:append("{recipe}")
package.path = "{recipe}/?.lua;" .. package.path
require("modellint").setup({{ cmd = {{ "{python}", "-m", "modellint", "server" }} }})
vim.cmd("filetype on")
local function fail(what)
  io.stderr:write(what .. "\\n")
  vim.cmd("cquit 1")
end
local function wait(what, done)
  if not vim.wait(120000, done, 50) then
    fail(what)
  end
end
"""
REPAIR = """\
vim.cmd("edit predict.py")
wait("no diagnostics", function()
  return #vim.diagnostic.get(0) > 0
end)
local found = vim.diagnostic.get(0)[1]
if found.lnum ~= 7 or found.col ~= 11 or found.source ~= "modellint" then
  fail(vim.inspect(found))
end
local params = vim.lsp.util.make_range_params()
params.range = { start = { line = 7, character = 11 }, ["end"] = { line = 7, character = 11 } }
params.context = { diagnostics = {} }
local answers = vim.lsp.buf_request_sync(0, "textDocument/codeAction", params, 60000)
for _, answer in pairs(answers) do
  vim.lsp.util.apply_workspace_edit(answer.result[1].edit, "utf-16")
end
wait("still diagnostics", function()
  return #vim.diagnostic.get(0) == 0
end)
vim.cmd("write")
vim.cmd("quitall")
"""
TRACE = """\
vim.cmd("edit model.py")
wait("no server", function()
  return #vim.lsp.buf_get_clients(0) > 0 and vim.lsp.buf_get_clients(0)[1].initialized
end)
vim.cmd("ModellintTrace")
wait("nothing found", function()
  return #vim.diagnostic.get(0) > 0
end)
io.stdout:write(vim.diagnostic.get(0)[1].message)
vim.cmd("quitall")
"""


def neovim(folder: Path, steps: str) -> str:
    """Run steps in Neovim, with our recipe; return what was written on standard output."""
    script = folder / "run.lua"
    script.write_text(NEOVIM.format(recipe=EDITORS / "neovim", python=sys.executable) + steps)
    command = ["nvim", "--headless", "--clean", "-c", f"luafile {script}"]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout


@pytest.mark.skipif(shutil.which("nvim") is None, reason="Neovim is not installed")
def test_neovim_shows_a_finding_and_repairs_it(tmp_path: Path) -> None:
    (tmp_path / "predict.py").write_text(FORGOTTEN)
    (tmp_path / ".modellint.yaml").write_text("")
    neovim(tmp_path, REPAIR)
    assert (tmp_path / "predict.py").read_text() == FORGOTTEN.replace("    return", "    model.eval()\n    return")


@pytest.mark.torch
@pytest.mark.skipif(shutil.which("nvim") is None, reason="Neovim is not installed")
def test_neovim_traces_and_shows_what_was_found(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    (tmp_path / "model.py").write_text(TRAINING)
    (tmp_path / ".modellint.yaml").write_text(CONFIGURED)
    assert "dropout (p=0.5) is active" in neovim(tmp_path, TRACE)


def _has_eglot() -> bool:
    if shutil.which("emacs") is None:
        return False
    run = subprocess.run(["emacs", "--batch", "-q", *PACKAGES, "-l", "eglot"], capture_output=True, check=False)
    return run.returncode == 0


def emacs(folder: Path, steps: str) -> str:
    """Run steps in Emacs, with our recipe; return what was written on standard output."""
    command = ["emacs", "--batch", "-q", *PACKAGES, "-L", str(EDITORS / "emacs"), "-l", "modellint", "--eval", steps]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout


@pytest.mark.skipif(not _has_eglot(), reason="Emacs with eglot is not installed")
def test_emacs_shows_a_finding(tmp_path: Path) -> None:
    (tmp_path / "predict.py").write_text(FORGOTTEN)
    (tmp_path / ".git").mkdir()
    steps = f"""(progn (setq modellint-command '("{sys.executable}" "-m" "modellint" "server"))
      (setq eglot-connect-timeout 120) (find-file "predict.py") (python-mode)
      (let ((eglot-sync-connect t)) (call-interactively 'eglot))
      (let ((tries 0)) (while (and (< tries 600) (null (flymake-diagnostics))) (sit-for 0.1) (setq tries (1+ tries))))
      (princ (mapconcat #'flymake-diagnostic-text (flymake-diagnostics) "\\n")) (kill-emacs))"""
    assert "training mode" in emacs(tmp_path, steps)


@pytest.mark.torch
@pytest.mark.skipif(not _has_eglot(), reason="Emacs with eglot is not installed")
def test_emacs_traces_and_shows_what_was_found(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    (tmp_path / "model.py").write_text(TRAINING)
    (tmp_path / ".modellint.yaml").write_text(CONFIGURED)
    (tmp_path / ".git").mkdir()
    steps = f"""(progn (setq modellint-command '("{sys.executable}" "-m" "modellint" "server"))
      (setq eglot-connect-timeout 120) (find-file "model.py") (python-mode)
      (let ((eglot-sync-connect t)) (call-interactively 'eglot))
      (modellint-trace)
      (let ((tries 0)) (while (and (< tries 1200) (null (flymake-diagnostics))) (sit-for 0.1) (setq tries (1+ tries))))
      (princ (mapconcat #'flymake-diagnostic-text (flymake-diagnostics) "\\n")) (kill-emacs))"""
    assert "dropout (p=0.5) is active" in emacs(tmp_path, steps)


@pytest.mark.skipif(
    not (EDITORS / "vscode/node_modules").is_dir(), reason="the extension's packages are not installed (npm install)"
)
def test_the_extension_for_vs_code_passes_its_own_tests() -> None:
    run = subprocess.run(
        ["npm", "test"], cwd=EDITORS / "vscode", capture_output=True, text=True, timeout=180, check=False
    )
    assert run.returncode == 0, run.stdout
