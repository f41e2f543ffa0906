"""Write what is generated: docs/rules/*.md and the rule table in README.md from the catalogue's YAML, the
tables of keys in docs/configuration.md from the JSON Schema of the settings.

`python docs/generate.py` writes what is stale. With `--check` it writes nothing, names what is stale and
exits with 1. With `--demo` it also runs the demonstration, which needs torch, and updates README.md with it.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from modellint.catalog import Example, Rule, load_rules

ROOT = Path(__file__).resolve().parent.parent
RULES = ROOT / "docs" / "rules"
README = ROOT / "README.md"
CONFIGURATION = ROOT / "docs" / "configuration.md"
SETTINGS = ROOT / "modellint" / "settings" / "schema.json"
FAMILIES = {
    "core": "The tool itself",
    "mode": "Training mode",
    "grad": "Autograd",
    "determinism": "Determinism",
    "weights": "Weights",
    "graph": "The captured graph",
    "probe": "Experiments on the model",
    "burn": "Burn (Rust)",
}
READS = {
    "python": "Python source, in `modellint check`",
    "rust": "Rust source, in `modellint check`",
    "trace": "a running model, in `modellint trace`",
    "lockfile": "a model and its entry in `modellint.lock`, in `modellint verify`",
    "any": "every file",
}
COMMANDS = {"trace": "trace", "lockfile": "verify", "any": "check, trace"}


def main() -> int:
    """Return the exit status."""
    parser = argparse.ArgumentParser(description="Write what is generated from the catalogue.")
    parser.add_argument("--check", action="store_true", help="write nothing, exit with 1 if stale")
    parser.add_argument("--demo", action="store_true", help="also refresh the demonstration's output")
    options = parser.parse_args()

    pages = generated(demo_output() if options.demo else None)
    stale = [path for path, text in pages.items() if not path.exists() or path.read_text("utf-8") != text]
    stale += sorted(set(RULES.glob("*.md")) - set(pages))
    for path in stale:
        print(f"{path.relative_to(ROOT)} is stale" if options.check else f"wrote {path.relative_to(ROOT)}")
        if not options.check:
            write(path, pages.get(path))
    return 1 if stale and options.check else 0


def generated(demo: str | None = None) -> dict[Path, str]:
    """Return every generated page by its path; README.md keeps the demonstration it has if `demo` is None."""
    rules = load_rules(ROOT / "rules")
    readme = replace_block(README.read_text("utf-8"), "rules", table(rules, "docs/rules/"))
    if demo is not None:
        readme = replace_block(readme, "demo", ["```console", "$ make demo", demo.rstrip(), "```"])
    schema = json.loads(SETTINGS.read_text("utf-8"))
    configuration = replace_block(CONFIGURATION.read_text("utf-8"), "keys", keys(schema))
    model = schema["properties"]["models"]["items"]
    configuration = replace_block(configuration, "model keys", keys(model, schema))
    pages = {RULES / f"{rule.name}.md": page(rule) for rule in rules.values()}
    return {**pages, RULES / "README.md": index(rules), README: readme, CONFIGURATION: configuration}


def demo_output() -> str:
    """Run the demonstration and return what it prints."""
    command = [sys.executable, str(ROOT / "examples" / "demo.py")]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def replace_block(text: str, name: str, lines: Iterable[str]) -> str:
    """Return `text` with `lines` between the markers of block `name`."""
    begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
    pattern = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
    if len(pattern.findall(text)) != 1:
        sys.exit(f"exactly one block has to stand between '{begin}' and '{end}'")
    return pattern.sub(lambda _: "\n".join([begin, *lines, end]), text)


def keys(schema: dict[str, Any], whole: dict[str, Any] | None = None) -> Iterator[str]:
    """Yield a Markdown table of the keys of an object in the JSON Schema `whole`."""
    yield "| key | value | meaning |"
    yield "|---|---|---|"
    for key, about in schema["properties"].items():
        kinds = dict.fromkeys(kind(part, whole or schema) for part in about.get("anyOf", [about]))
        required = " Required." if key in schema.get("required", ()) else ""
        yield f"| `{key}` | {' or '.join(kinds)} | {cell(about.get('description', ''))}{required} |"


def kind(schema: dict[str, Any], whole: dict[str, Any]) -> str:
    """Return in words which values a schema allows."""
    if "$ref" in schema:
        return kind(whole["$defs"][schema["$ref"].rsplit("/", 1)[-1]], whole)
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    if schema["type"] == "array":
        return "list of " + {"string": "strings", "object": "tables"}[schema["items"]["type"]]
    return {"object": "table"}.get(schema["type"], str(schema["type"]))


def index(rules: Mapping[str, Rule]) -> str:
    """Return the page that lists every rule."""
    return "\n".join(
        [
            "<!-- Generated by docs/generate.py; do not edit. -->",
            "# Rules",
            "",
            "`modellint rule CODE` prints the same text, `modellint rule --all` all of it.",
            "",
            *table(rules, ""),
            "",
        ]
    )


def table(rules: Mapping[str, Rule], folder: str) -> Iterator[str]:
    """Yield a Markdown table of `rules`, whose pages lie under `folder`."""
    yield "| code | name | default | pass | what |"
    yield "|---|---|---|---|---|"
    for rule in rules.values():
        command = COMMANDS.get(rule.runs_on, "check")
        link = f"[{rule.name}]({folder}{rule.name}.md)"
        yield f"| {rule.code} | {link} | {default(rule)} | {command} | {cell(rule.summary)} |"


def default(rule: Rule) -> str:
    """Return the severity that a rule has without configuration."""
    return rule.severity.value if rule.enabled else "off"


def cell(text: str) -> str:
    """Return `text` fit for one cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")


def page(rule: Rule) -> str:
    """Return the page of one rule."""
    return re.sub(r"\n{3,}", "\n\n", "\n".join(sections(rule)).rstrip()) + "\n"


def sections(rule: Rule) -> Iterator[str]:
    """Yield the lines of a rule's page."""
    origin = rule.path.relative_to(ROOT).as_posix()
    yield f"<!-- Generated from {origin} by docs/generate.py; do not edit. -->"
    yield f"# {rule.code}: {rule.name}"
    yield from ("", rule.summary, "")
    yield "| family | default | confidence at most | reads |"
    yield "|---|---|---|---|"
    family = FAMILIES.get(rule.family, rule.family)
    off = f"off; {rule.severity.value} when selected"
    severity = rule.severity.value if rule.enabled else off
    yield f"| {family} | {severity} | {rule.confidence.value} | {READS[rule.runs_on]} |"
    yield from section("What it does", rule.what)
    yield from section("Why is this bad?", rule.why)
    yield from examples("Example", (e for e in rule.examples if e.bad))
    yield from section("Use instead", rule.use_instead)
    yield from examples("Not reported", (e for e in rule.examples if not e.bad))
    if rule.fix:
        yield from section(f"Fix ({rule.fix.safety.value})", rule.fix.text)
    yield from section("What it does not see", rule.blind_spots)
    if rule.options:
        yield from ("", "## Options", "", "| option | default | about |", "|---|---|---|")
        for name, option in rule.options.items():
            yield f"| `{name}` | `{option.default}` | {cell(option.about)} |"
    if rule.references:
        yield from ("", "## References", "")
        yield from (f"- [{title}]({url})" for title, url in rule.references)
    if rule.page.edge_cases:
        yield from (
            "",
            "## Edge cases",
            "",
            "<details>",
            f"<summary>{len(rule.page.edge_cases)} more examples</summary>",
        )
        yield from examples("Reported, too", (e for e in rule.page.edge_cases if e.bad), level=3)
        yield from examples("Not reported, either", (e for e in rule.page.edge_cases if not e.bad), level=3)
        yield from ("", "</details>")


def section(title: str, text: str) -> Iterator[str]:
    """Yield a section, or nothing for an empty text."""
    if text.strip():
        yield from ("", f"## {title}", "", text.strip(), "")


def examples(title: str, chosen: Iterable[Example], level: int = 2) -> Iterator[str]:
    """Yield the `chosen` examples; the lines that are reported carry `# finding`."""
    for number, example in enumerate(chosen):
        if number == 0:
            yield from ("", f"{'#' * level} {title}")
        yield from ("", f"{example.title[:1].upper()}{example.title[1:].rstrip('.:')}:", "")
        for name, text in example.files.items():
            if len(example.files) > 1:
                yield from (f"`{name}`", "")
            language = "rust" if name.endswith(".rs") else "python"
            yield from (f"```{language}", text.strip("\n"), "```", "")
        if example.inputs:
            yield from ("Input: " + ", ".join(f"`{spec}`" for spec in example.inputs), "")


def write(path: Path, text: str | None) -> None:
    """Write `text` in one step; None removes the file."""
    if text is None:
        path.unlink()
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(path.name + ".new")
    fresh.write_text(text, "utf-8")
    fresh.replace(path)


if __name__ == "__main__":
    sys.exit(main())
