"""`modellint rule`: what a rule finds, why that is bad, and what to write instead."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import click

from modellint.catalog import DocumentError, Example, Problem, Rule, clashes, load_rule, load_rules
from modellint.catalog.detect import PATTERN
from modellint.catalog.document import suggestion
from modellint.cli._output import fail, settings_here, wants_color
from modellint.settings import Overrides, Resolver, SettingsError

_INDENT = "    "
_PASSES = {
    "python": "modellint check",
    "rust": "modellint check",
    "trace": "modellint trace",
    "lockfile": "modellint verify",
    "any": "modellint check and trace",
}


@click.command()
@click.argument("names", nargs=-1, metavar="[CODE|NAME]...")
@click.option("--all", "every", is_flag=True, help="Explain every rule.")
@click.option("--check", is_flag=True, help="Take the names for rule files: validate them, run their examples.")
@click.option("--output-format", type=click.Choice(["text", "json"]), default="text", show_default=True, help="How.")
@click.option("--isolated", is_flag=True, help="Ignore all configuration files.")
@click.option("--config", type=click.Path(path_type=Path), help="Use this configuration file.")
def rule(
    names: tuple[str, ...], every: bool, check: bool, output_format: str, isolated: bool, config: Path | None
) -> None:
    """Explain rules by code or name; without any, list all of them.

    Rules of your own that the configuration names are among them. `modellint rule --check FILE...` takes files that
    need not be named there: they are read, their examples are run, and whatever is wrong is said with the file's line
    and key (exit status 2).
    """
    if names and every:
        raise click.UsageError("--all explains every rule already")
    if check and (every or not names):
        raise click.UsageError("--check takes rule files: modellint rule --check rules/house.yaml")
    here = Resolver(Overrides(isolated=isolated, config=config.absolute() if config else None))
    if check:
        _check([Path(name) for name in names], here)
        return
    rules = settings_here(here).catalogue
    chosen = [_find(name, rules.values()) for name in names] if names else list(rules.values())
    if output_format == "json":
        items = [as_dict(rule) for rule in chosen]
        text = json.dumps(items[0] if len(names) == 1 else items, indent=2) + "\n"
    elif names or every:
        bold = _bold if wants_color(sys.stdout) else str
        text = "\n\n".join("\n".join(page(rule, bold)) for rule in chosen) + "\n"
    else:
        text = "".join(f"{line}\n" for line in table(chosen))
    sys.stdout.write(text)


def _check(paths: Iterable[Path], resolver: Resolver) -> None:
    """Say of each rule file that it is right; leave with exit status 2 and what is wrong where one is not."""
    problems: list[Problem] = []
    for path in paths:
        try:
            sys.stdout.write(_checked(path, resolver))
        except DocumentError as error:
            problems += error.problems
    if problems:
        fail(DocumentError(problems))


def _checked(path: Path, resolver: Resolver) -> str:
    """Return what to say of a rule file that is right; raise `DocumentError` where it is not."""
    from modellint.linting import prove

    found = load_rule(path)
    wrong = clashes(found, _others(resolver)) or (list(prove(found)) if found.runs_on == "python" else [])
    if wrong:
        raise DocumentError(wrong)
    count = len(found.cases)
    if found.runs_on != "python":
        return f"{path}: {found.code} {found.name} is well formed; its {count} examples need `modellint trace`\n"
    return f"{path}: {found.code} {found.name}: {count} examples, all as marked\n"


def _others(resolver: Resolver) -> Iterable[Rule]:
    """Return the rules that a file is to stand beside."""
    with contextlib.suppress(DocumentError, SettingsError):  # the file may be what breaks the configuration
        return resolver.for_folder(Path.cwd()).catalogue.values()
    return load_rules().values()


def _find(name: str, rules: Iterable[Rule]) -> Rule:
    rules = list(rules)
    for candidate in rules:
        if name.upper() == candidate.code or name.lower() == candidate.name:
            return candidate
    words = [word for candidate in rules for word in (candidate.code, candidate.name)]
    hint = suggestion(name, words) or suggestion(name.upper(), words)
    raise click.UsageError(f"no rule {name!r}{hint}")


def table(rules: Iterable[Rule]) -> Iterator[str]:
    """Yield one line a rule: code, name, default, summary, by family."""
    rules = sorted(rules, key=lambda rule: rule.code)
    width = max((len(rule.name) for rule in rules), default=0)
    family = None
    for rule in rules:
        if rule.family != family:
            if family is not None:
                yield ""
            family = rule.family
            yield family
        default = rule.severity.value if rule.enabled else "off"
        fix = "fix" if rule.fix else ""
        yield f"  {rule.code}  {rule.name:<{width}}  {default:<7}  {fix:<3}  {rule.summary}"


def page(rule: Rule, bold: Callable[[str], str] = str) -> Iterator[str]:
    """Yield the lines that explain `rule`; `bold` emphasises a heading."""
    yield bold(f"{rule.code} {rule.name}")
    yield rule.summary
    yield ""
    default = rule.severity.value if rule.enabled else f"off ({rule.severity.value} when selected)"
    found = f"at most {rule.confidence.value}; found by {_PASSES[rule.runs_on]}"
    yield f"Family {rule.family}, default {default}, {found}."
    yield from _section("What it does", rule.what, bold)
    yield from _section("Why is this bad?", rule.why, bold)
    yield from _examples("Example", (example for example in rule.examples if example.bad), bold)
    yield from _section("Use instead", rule.use_instead, bold)
    yield from _examples("Not reported", (example for example in rule.examples if not example.bad), bold)
    if rule.fix is not None:
        yield from _section(f"Fix ({rule.fix.safety.value})", rule.fix.text, bold)
    yield from _section("What it does not see", rule.blind_spots, bold)
    if rule.page.edge_cases:
        yield from ("", f"{len(rule.page.edge_cases)} edge cases follow in {rule.path.name}.")
    if rule.options:
        yield from ("", bold("Options"))
        for name, option in rule.options.items():
            yield f"{_INDENT}{name} (default {json.dumps(option.default)}): {' '.join(option.about.split())}"
    if rule.references:
        yield from ("", bold("References"))
        yield from (f"{_INDENT}{title}: {url}" for title, url in rule.references)


def _section(title: str, text: str, bold: Callable[[str], str]) -> Iterator[str]:
    if text.strip():
        yield from ("", bold(title))
        yield from (f"{_INDENT}{line}".rstrip() for line in text.strip().splitlines())


def _examples(title: str, examples: Iterable[Example], bold: Callable[[str], str]) -> Iterator[str]:
    for number, example in enumerate(examples):
        if number == 0:
            yield from ("", bold(title))
        yield from ("", f"{_INDENT}{example.title}:") if number else (f"{_INDENT}{example.title}:",)
        for name, code in example.files.items():
            yield ""
            if len(example.files) > 1:
                yield f"{_INDENT}{_INDENT}# {name}"
            yield from (f"{_INDENT}{_INDENT}{line}".rstrip() for line in code.strip("\n").split("\n"))


def as_dict(rule: Rule) -> dict[str, Any]:
    """Return `rule` as JSON data, in the spelling of its YAML file."""
    return {
        "code": rule.code,
        "name": rule.name,
        "family": rule.family,
        "severity": rule.severity.value,
        "confidence": rule.confidence.value,
        "enabled": rule.enabled,
        "summary": rule.summary,
        "message": rule.message,
        "what-it-does": rule.what,
        "why-is-this-bad": rule.why,
        "use-instead": rule.use_instead,
        "fix": rule.fix and {"safety": rule.fix.safety.value, "about": rule.fix.text},
        "does-not-see": rule.blind_spots,
        "options": {name: {"default": option.default, "about": option.about} for name, option in rule.options.items()},
        "references": [{"title": title, "url": url} for title, url in rule.references],
        "runs-on": rule.runs_on,
        "detect": _detect(rule),
        "examples": [
            {"title": example.title, "bad": example.bad, "files": dict(example.files), "check": example.check}
            for example in rule.examples
        ],
        "edge-cases": [
            {"title": example.title, "bad": example.bad, "files": dict(example.files), "check": example.check}
            for example in rule.page.edge_cases
        ],
    }


def _detect(rule: Rule) -> dict[str, Any]:
    options = dict(rule.detector_options)
    return options if rule.detector == PATTERN else {"detector": rule.detector, "options": options}


def _bold(text: str) -> str:
    return f"\x1b[1m{text}\x1b[0m"
