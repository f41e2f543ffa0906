import * as vscode from "vscode";
import { LanguageClient, type LanguageClientOptions } from "vscode-languageclient/node";
import { needsRestart, serverCommand, serverSettings, type Read } from "./settings";

let client: LanguageClient | undefined;

function reader(): Read {
  const settings = vscode.workspace.getConfiguration("modellint");
  return (key, otherwise) => settings.get(key, otherwise);
}

async function start(): Promise<void> {
  const read = reader();
  if (!read("enable", true)) {
    return;
  }
  const options: LanguageClientOptions = {
    documentSelector: [
      { scheme: "file", language: "python" },
      { scheme: "untitled", language: "python" },
      { scheme: "file", language: "rust" },
      { notebook: { notebookType: "jupyter-notebook" }, language: "python" },
    ],
    initializationOptions: { settings: serverSettings(read) },
  };
  const fresh = new LanguageClient("modellint", "modellint", serverCommand(read), options);
  client = fresh;
  try {
    await fresh.start();
  } catch (error) {
    client = undefined;
    const { command, args } = serverCommand(read);
    const reason = error instanceof Error ? error.message : String(error);
    void vscode.window.showErrorMessage(
      `modellint: \`${[command, ...args].join(" ")}\` does not start: ${reason}. ` +
        "Install it with `pip install 'modellint[server]'` and set `modellint.interpreter`.",
    );
  }
}

async function stop(): Promise<void> {
  const old = client;
  client = undefined;
  await old?.stop();
}

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const restart = async (): Promise<void> => {
    await stop();
    await start();
  };
  context.subscriptions.push(
    vscode.commands.registerCommand("modellint.restart", restart),
    vscode.workspace.onDidChangeConfiguration(async (event) => {
      if (needsRestart((section) => event.affectsConfiguration(section))) {
        await restart();
      } else if (event.affectsConfiguration("modellint")) {
        const settings = { modellint: serverSettings(reader()) };
        await client?.sendNotification("workspace/didChangeConfiguration", { settings });
      }
    }),
  );
  await start();
}

export async function deactivate(): Promise<void> {
  await stop();
}
