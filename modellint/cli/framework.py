"""`modellint framework`: what is known of a library, and why."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from modellint.catalog import Framework
from modellint.catalog.document import suggestion
from modellint.catalog.framework import Entry, entries
from modellint.cli._output import settings_here, wants_color
from modellint.settings import Overrides, Resolver

_INDENT = "    "
_TITLES = {
    "loaders": "Loaders: calls that return a model",
    "wrappers": "Wrappers: calls that return the model they are given, or one around it",
    "entry-points": "Entry points: calls that run a model, load into it or switch it",
    "runners": "Runners: objects that run a model by themselves",
    "contexts": "Contexts: what switches autograd or a mode for a block",
    "hooks": "Hooks: methods that the library calls by itself",
    "modules": "Modules",
}
_BESIDE = ("when", "note", "evidence", "versions", "except")


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--output-format", type=click.Choice(["text", "json"]), default="text", show_default=True, help="How.")
@click.option("--isolated", is_flag=True, help="Ignore all configuration files.")
@click.option("--config", type=click.Path(path_type=Path), help="Use this configuration file.")
def framework(names: tuple[str, ...], output_format: str, isolated: bool, config: Path | None) -> None:
    """Explain what libraries do, by name; without any, list all that are known.

    Files of your own that the configuration names are among them.
    """
    here = Resolver(Overrides(isolated=isolated, config=config.absolute() if config else None))
    known = sorted(settings_here(here).frameworks, key=lambda item: item.name)
    chosen = [_find(name, known) for name in names] if names else known
    if output_format == "json":
        items = [as_dict(item) for item in chosen]
        text = json.dumps(items[0] if len(names) == 1 else items, indent=2) + "\n"
    elif names:
        bold = _bold if wants_color(sys.stdout) else str
        text = "\n\n".join("\n".join(page(item, bold)) for item in chosen) + "\n"
    else:
        width = max((len(item.name) for item in chosen), default=0)
        text = "".join(f"{item.name:<{width}}  {item.about}\n" for item in chosen)
    sys.stdout.write(text)


def _find(name: str, known: Iterable[Framework]) -> Framework:
    known = list(known)
    for item in known:
        if name.lower() in (item.name.lower(), *map(str.lower, item.roots)):
            return item
    words = [word for item in known for word in (item.name, *item.roots)]
    raise click.UsageError(f"no library {name!r}{suggestion(name, words)}")


def page(item: Framework, bold: Callable[[str], str] = str) -> Iterator[str]:
    """Yield the lines that explain a library; `bold` emphasises a heading."""
    yield bold(item.name)
    yield item.about
    yield ""
    yield f"Imported as {', '.join(item.roots)}; described in {item.path}."
    section = None
    for entry in entries(item):
        if entry.section != section:
            section = entry.section
            yield from ("", bold(_TITLES[section]))
        yield from (f"{_INDENT}{line}" for line in _lines(entry))


def _lines(entry: Entry) -> Iterator[str]:
    data = entry.data
    if entry.section == "modules":
        yield f"{data['kind']}: {', '.join(entry.names)}"
        return
    yield from entry.names
    facts = _said(data)
    if facts:
        yield f"{_INDENT}{facts}"
    for case in data.get("when", ()):
        asked = "|".join(_listed(case["argument"]))
        values = ", ".join(_spelled(value) for value in _listed(case["is"]))
        yield f"{_INDENT}where {asked} is {values}: {_said(case)}"
    for key in ("except", "note", "versions"):
        if key in data:
            value = data[key]
            yield f"{_INDENT}{key}: {' '.join(value.split()) if isinstance(value, str) else ', '.join(value)}"
    for source in data.get("evidence", ()):
        yield f"{_INDENT}seen in {source}"


def _said(data: Mapping[str, Any]) -> str:
    keys = (key for key in data if key not in (*_BESIDE, "argument", "position", "is"))
    return ", ".join(f"{key} {_value(data[key])}" for key in keys)


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"in {' or '.join(_listed(value.get('argument', ())) or ('the argument',))}" + (
            f" (position {value['position']})" if "position" in value else ""
        )
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value).lower()


def _spelled(value: Any) -> str:
    return str(value) if isinstance(value, str) else repr(value)


def _listed(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (list, tuple)) else (value,)


def as_dict(item: Framework) -> dict[str, Any]:
    """Return a library as JSON data, its sections in the spelling of its YAML file."""
    sections: dict[str, list[dict[str, Any]]] = {}
    for entry in entries(item):
        sections.setdefault(entry.section, []).append({"names": list(entry.names), **entry.data})
    return {
        "name": item.name,
        "roots": list(item.roots),
        "about": item.about,
        "filename": str(item.path),
        "sections": sections,
    }


def _bold(text: str) -> str:
    return f"\x1b[1m{text}\x1b[0m"
