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
    text_of,
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


@dataclass(frozen=True, slots=True)
class _Content:
    """What a configuration file holds: no document where it is broken. `ours`: it has a place for us, if empty."""

    document: Document | None
    problems: list[Problem]
    ours: bool = True


class Configurations:
    """The configuration files of a run, each read once."""

    def __init__(self) -> None:
        self._contents: dict[Path, _Content] = {}

    def nearest(self, folder: Path) -> Path | None:
        """Return the configuration file that counts in `folder`, an absolute path."""
        for parent in (folder, *folder.parents):
            for name in NAMES:
                path = parent / name
                if path.is_file() and (name != "pyproject.toml" or self._is_ours(path)):
                    return path
        return None

    def _is_ours(self, path: Path) -> bool:
        if path not in self._contents:
            try:
                data = path.read_bytes()
            except OSError:
                return False
            self._contents[path] = _read(path, data) if b"modellint" in data else _OTHERS
        return self._contents[path].ours

    def chain(self, path: Path) -> Chain:
        """Read the configuration file `path` and what it extends; errors are collected, none is raised."""
        chain = Chain()
        self._add(path, chain, (), None)
        return chain

    def _add(self, path: Path, chain: Chain, above: tuple[Path, ...], asked: Problem | None) -> None:
        """Add `path` to `chain`; `above` are the files that led here, `asked` the place of the last `extends`."""
        if self._contents.get(path, _OTHERS) is _OTHERS:
            self._contents[path] = _read(path)
        content = self._contents[path]
        document = content.document
        if document is None:
            chain.problems += content.problems if asked is None or path.is_file() else [asked]
            return
        chain.problems += content.problems
        broken = {problem.key for problem in content.problems}
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
                    self._add(target, chain, (*above, path.resolve()), missing)
        chain.documents.append(document)


_OTHERS = _Content(None, [], ours=False)  # a file that does not speak of us, and was not looked into


def _read(path: Path, data: bytes | None = None) -> _Content:
    """Read the configuration file `path`, whose content may be at hand."""
    try:
        text = read_document(path) if data is None else text_of(path, data)
        document = compiled.known(path, text, SCHEMA)
        if document is not None and document.data:
            return _Content(document, [])
        document, ours = _load(path, text)
    except DocumentError as error:  # it may be about us: that is said where it is read
        return _Content(None, error.problems)
    problems = validate(document, SCHEMA)
    if not problems and document.data:
        compiled.keep(document, text, SCHEMA)
    return _Content(document, problems, ours)


def _extended(document: Document) -> Iterator[tuple[KeyPath, str]]:
    value = document.data.get("extends", [])
    if isinstance(value, str):
        yield ("extends",), value
    else:
        for index, item in enumerate(value):
            yield ("extends", index), item


def _load(path: Path, text: str) -> tuple[Document, bool]:
    """Return what a file says to us, and whether it has a place for that."""
    if path.suffix == ".toml":
        from modellint.settings.toml import load_toml, sub_document  # most runs read none

        document = load_toml(path, text)
        tool = document.data.get("tool")
        ours = isinstance(tool, dict) and "modellint" in tool
        if path.name == "pyproject.toml" or "tool" in document.data:
            document = sub_document(document, "tool", "modellint")
        return document, ours
    document = load_yaml(path, text)
    return document if document.data is not None else Document(path, {}, document.rows), True
