import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { needsRestart, SERVER_KEYS, serverCommand, serverSettings, type Read } from "../src/settings";

const reads =
  (settings: Record<string, unknown>): Read =>
  (key, otherwise) =>
    (key in settings ? settings[key] : otherwise) as typeof otherwise;

const manifest = JSON.parse(readFileSync(join(__dirname, "../../package.json"), "utf8"));
const declared: Record<string, { default: unknown }> = manifest.contributes.configuration.properties;

test("the defaults send nothing and start the interpreter's modellint", () => {
  const defaults = Object.fromEntries(
    Object.entries(declared).map(([key, entry]) => [key.replace("modellint.", ""), entry.default]),
  );
  assert.deepEqual(serverSettings(reads(defaults)), {});
  assert.deepEqual(serverCommand(reads(defaults)), { command: "python3", args: ["-m", "modellint", "server"] });
});

test("a command of the user's own wins", () => {
  const read = reads({ path: ["uvx", "modellint"], interpreter: "/usr/bin/python3" });
  assert.deepEqual(serverCommand(read), { command: "uvx", args: ["modellint", "server"] });
});

test("what is set is sent under the server's names", () => {
  const read = reads({ ignore: ["ML201"], select: [], deep: true, isolated: false, minConfidence: "certain" });
  assert.deepEqual(serverSettings(read), { ignore: ["ML201"], deep: true, minConfidence: "certain" });
});

test("every setting of the server is declared", () => {
  for (const key of SERVER_KEYS) {
    assert.ok(`modellint.${key}` in declared, key);
  }
});

test("only what concerns the process restarts it", () => {
  assert.equal(needsRestart((section) => section === "modellint.ignore"), false);
  assert.equal(needsRestart((section) => section === "modellint.interpreter"), true);
});
