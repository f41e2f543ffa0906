"""Configuration files: which one counts, and what it extends."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from modellint.catalog.document import (
    Document,
    DocumentError,
    KeyPath,
    Problem,
    load_yaml,
    read_document,
    suggestion,
    validate,
)
from modellint.settings import compiled

SCHEMA = Path(__file__).parent / "schema.json"
NAMES = (".modellint.yaml", ".modellint.yml", "pyproject.toml")
PROFILES = ("strict",)


@dataclass(slots=True)
class Chain:
    """A configuration file behind all that it extends: later documents beat earlier ones."""

    documents: list[Document] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    strict: bool = False


def nearest(folder: Path) -> Path | None:
    """Return the configuration file that counts in `folder`, an absolute path."""
    for parent in (folder, *folder.parents):
        for name in NAMES:
            path = parent / name
            if path.is_file() and (name != "pyproject.toml" or _has_table(path)):
                return path
    return None


def _has_table(path: Path) -> bool:
    try:
        if b"modellint" not in path.read_bytes():
            return False
    except OSError:
        return False
    try:
        text = read_document(path)
        if (kept := compiled.known(path, text, SCHEMA)) is not None and kept.data:
            return True
        from modellint.settings.toml import load_toml  # most runs read none

        data = load_toml(path, text).data
    except DocumentError:  # broken, and about us: that is said where it is read
        return True
    tool = data.get("tool")
    return isinstance(tool, dict) and "modellint" in tool


def read_chain(path: Path) -> Chain:
    """Read the configuration file `path` and what it extends; errors are collected, none is raised."""
    chain = Chain()
    _read(path, chain, (), None)
    return chain


def _read(path: Path, chain: Chain, above: tuple[Path, ...], asked: Problem | None) -> None:
    """Add `path` to `chain`; `above` are the files that led here, `asked` the place of the last `extends`."""
    problems: list[Problem] = []
    try:
        text = read_document(path)
        document = compiled.known(path, text, SCHEMA)
        if document is None:
            document = _load(path, text)
            problems = validate(document, SCHEMA)
            if not problems:
                compiled.keep(document, text, SCHEMA)
    except DocumentError as error:
        chain.problems += error.problems if asked is None or path.is_file() else [asked]
        return
    chain.problems += problems
    broken = {problem.key for problem in problems}
    if not isinstance(document.data, dict):
        return
    if "extends" not in broken:
        for key, value in _extended(document):
            target = (path.parent / value).resolve()
            if value in PROFILES:
                chain.strict = True
            elif target == path.resolve() or target in above:
                chain.problems.append(document.problem(key, f"{value!r} leads back to {target.name}"))
            else:
                hint = suggestion(value, PROFILES)
                missing = document.problem(key, f"{value!r} is neither a profile nor a file{hint}")
                _read(target, chain, (*above, path.resolve()), missing)
    chain.documents.append(document)


def _extended(document: Document) -> Iterator[tuple[KeyPath, str]]:
    value = document.data.get("extends", [])
    if isinstance(value, str):
        yield ("extends",), value
    else:
        for index, item in enumerate(value):
            yield ("extends", index), item


def _load(path: Path, text: str) -> Document:
    if path.suffix == ".toml":
        from modellint.settings.toml import load_toml, sub_document

        document = load_toml(path, text)
        if path.name == "pyproject.toml" or "tool" in document.data:
            document = sub_document(document, "tool", "modellint")
        return document
    document = load_yaml(path, text)
    return document if document.data is not None else Document(path, {}, document.rows)
