// What the extension makes of the user's settings; free of `vscode`, so that it can be tested without an editor.

export type Read = <T>(key: string, otherwise: T) => T;

export interface Command {
  command: string;
  args: string[];
}

/** The settings that the server takes, under the names that it gives them. */
export const SERVER_KEYS = [
  "select",
  "extendSelect",
  "ignore",
  "minConfidence",
  "configuration",
  "deep",
  "isolated",
] as const;

/** The command that starts the server. */
export function serverCommand(read: Read): Command {
  const [command, ...args] = read<string[]>("path", []);
  if (command !== undefined && command !== "") {
    return { command, args: [...args, "server"] };
  }
  return { command: read("interpreter", "python3") || "python3", args: ["-m", "modellint", "server"] };
}

/** The settings to send; those that are empty are left to the configuration file. */
export function serverSettings(read: Read): Record<string, unknown> {
  const settings: Record<string, unknown> = {};
  for (const key of SERVER_KEYS) {
    const value = read<unknown>(key, undefined);
    const empty = value === undefined || value === null || value === "" || value === false;
    if (!empty && !(Array.isArray(value) && value.length === 0)) {
      settings[key] = value;
    }
  }
  return settings;
}

/** Whether a change of the settings needs a new server process, and not only a message. */
export function needsRestart(affects: (section: string) => boolean): boolean {
  return ["enable", "path", "interpreter"].some((key) => affects(`modellint.${key}`));
}
