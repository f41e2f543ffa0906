"""YAML with line numbers, checked against a JSON Schema; every error of a file is reported at once."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

KeyPath = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Problem:
    """One error of a document: where it stands and what is wrong."""

    path: Path
    row: int
    key: str
    message: str

    def __str__(self) -> str:
        key = f"{self.key}: " if self.key else ""
        return f"{self.path}:{self.row}: {key}{self.message}"


class DocumentError(ValueError):
    """A document cannot be used; `problems` holds all its errors, in the order of the file."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = sorted(problems, key=lambda p: (str(p.path), p.row, p.key))
        super().__init__("\n".join(map(str, self.problems)))


@dataclass(frozen=True, slots=True)
class Document:
    """The data of a YAML file, and the row on which each key stands."""

    path: Path
    data: Any
    rows: Mapping[KeyPath, int]

    def row(self, key: KeyPath) -> int:
        """Return the 1-based row of `key`, or of its nearest ancestor that has one."""
        while key not in self.rows and key:
            key = key[:-1]
        return self.rows.get(key, 1)

    def problem(self, key: KeyPath, message: str) -> Problem:
        """Return an error about `key`."""
        return Problem(self.path, self.row(key), dotted(key), message)


def dotted(key: KeyPath) -> str:
    """Return `key` as a user writes it: `examples.bad[0].code`."""
    text = ""
    for part in key:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text


def read_document(path: Path) -> str:
    """Return the text of a document; raise `DocumentError` where it cannot be read."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DocumentError([Problem(path, 1, "", f"cannot be read: {error.strerror}")]) from None
    return text_of(path, data)


def text_of(path: Path, data: bytes) -> str:
    """Return the text of the document `path`, which holds `data`; raise `DocumentError` where it is none."""
    try:
        return data.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError:
        raise DocumentError([Problem(path, 1, "", "is not UTF-8")]) from None


def load_yaml(path: Path, text: str | None = None) -> Document:
    """Read the YAML file `path` (or `text`, standing for it).

    Raises `DocumentError` where it cannot be read, is not YAML or repeats a key.
    """
    import yaml  # most runs read none

    text = read_document(path) if text is None else text
    rows: dict[KeyPath, int] = {}
    problems: list[Problem] = []
    try:
        loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(text)
        try:
            root = loader.get_single_node()
            if root is not None:
                _note_rows(path, root, (), rows, problems)
                data = None if problems else loader.construct_document(root)
            else:
                data = None
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise DocumentError(
            [
                Problem(
                    path,
                    mark.line + 1 if mark else 1,
                    "",
                    f"is not valid YAML: {error.problem}{_yaml_hint(error.problem)}",
                )
            ]
        ) from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise DocumentError([Problem(path, 1, "", f"is not valid YAML: {reason}")]) from None
    if problems:
        raise DocumentError(problems)
    return Document(path, data, rows)


def _yaml_hint(problem: str | None) -> str:
    return "; a text that holds ': ' needs quotes" if problem and problem.startswith("mapping values") else ""


def _note_rows(path: Path, node: Any, key: KeyPath, rows: dict[KeyPath, int], problems: list[Problem]) -> None:
    import yaml

    rows.setdefault(key, node.start_mark.line + 1)
    if isinstance(node, yaml.MappingNode):
        for name, value in node.value:
            child = (*key, str(name.value))
            row = name.start_mark.line + 1
            if name.tag not in ("tag:yaml.org,2002:str", "tag:yaml.org,2002:merge"):
                problems.append(Problem(path, row, dotted(child), "the key is no string: put it into quotes"))
            if child in rows:
                problems.append(Problem(path, row, dotted(child), f"is given twice (first on line {rows[child]})"))
            rows[child] = row
            _note_rows(path, value, child, rows, problems)
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            _note_rows(path, value, (*key, index), rows, problems)


@cache
def _validator(schema_path: Path) -> Any:
    from jsonschema import Draft202012Validator

    return Draft202012Validator(json.loads(schema_path.read_text(encoding="utf-8")))


def validate(document: Document, schema_path: Path) -> list[Problem]:
    """Return every way in which `document` breaks the JSON Schema at `schema_path`, each cause once."""
    problems = []
    for error in _leaves(_validator(schema_path).iter_errors(document.data)):
        key = tuple(error.absolute_path)
        if error.validator == "additionalProperties":
            known = sorted(error.schema.get("properties", {}))
            for name in _unknown(error):
                hint = suggestion(name, known) or f"; known are {', '.join(known)}"
                problems.append(document.problem((*key, name), f"unknown key{hint}"))
        elif message := _explain(error):
            problems.append(document.problem(key, message))
    return list(dict.fromkeys(problems))


def _unknown(error: Any) -> list[str]:
    """Return the keys that a part of a document has and its schema does not know, sorted."""
    patterns = error.schema.get("patternProperties", {})
    names = sorted(set(error.instance) - set(error.schema.get("properties", {})))
    return [name for name in names if not any(_matches(name, pattern) for pattern in patterns)]


def _matches(name: object, pattern: str) -> bool:
    import re

    return re.search(pattern, str(name)) is not None


def _leaves(errors: Iterable[Any]) -> Iterable[Any]:
    """Descend into `oneOf` and `anyOf`, to the branch that the author most likely meant."""
    from jsonschema.exceptions import relevance

    for error in errors:
        if error.context and not _one_of(error):
            branches: dict[Any, list[Any]] = {}
            for inner in error.context:
                branches.setdefault(inner.schema_path[0], []).append(inner)
            deepest = min(branches.values(), key=lambda branch: (_is_type_error(branch), len(branch)))
            if all(_is_type_error(branch) for branch in branches.values()):
                yield error
            else:
                yield from _leaves(sorted(deepest, key=relevance))
        else:
            yield error


def _one_of(error: Any) -> list[str]:
    """Return the keys of which a part of a document has to have one, where that is what is wrong."""
    branches = error.validator_value if error.validator == "oneOf" else []
    return [name for branch in branches for name in branch["required"]] if all(map(_asks_for_keys, branches)) else []


def _asks_for_keys(branch: Any) -> bool:
    return isinstance(branch, dict) and set(branch) == {"required"}


def _is_type_error(branch: list[Any]) -> bool:
    return any(inner.validator == "type" and not inner.path for inner in branch)


def _explain(error: Any) -> str:
    if error.validator == "required":
        closed = error.schema.get("additionalProperties") is False
        misspelt = [meant(name, error.schema["properties"]) for name in _unknown(error)] if closed else []
        missing = [name for name in error.validator_value if name not in error.instance and name not in misspelt]
        return "lacks " + ", ".join(map(repr, missing)) if missing else ""
    if error.validator == "enum":
        allowed = [str(value) for value in error.validator_value]
        hint = "; put it into quotes" if isinstance(error.instance, bool) else suggestion(error.instance, allowed)
        return f"{error.instance!r} is none of {', '.join(allowed)}{hint}"  # `off` and `on` are no texts in YAML
    if error.validator == "type":
        wanted = error.validator_value
        return _must_be(" or ".join(wanted) if isinstance(wanted, list) else wanted, error.instance)
    if error.validator == "pattern":
        about = error.schema.get("description") if isinstance(error.schema, dict) else None
        return f"{error.instance!r} does not match {error.validator_value}" + (f" ({about})" if about else "")
    if error.validator == "minProperties" and error.instance:
        others = [name for name in error.schema.get("properties", {}) if name not in error.instance]
        return f"says nothing with {', '.join(error.instance)} alone; give one of {', '.join(others)}"
    if error.validator in ("anyOf", "oneOf"):
        if names := _one_of(error):
            return f"takes one of {', '.join(names[:-1])} and {names[-1]}"
        kinds = [inner.validator_value for inner in error.context if inner.validator == "type"]
        return f"must be {' or '.join(_article(str(kind)) for kind in dict.fromkeys(map(str, kinds)))}"
    return str(error.message)


def _must_be(wanted: str, value: object) -> str:
    hint = ""
    if wanted == "array" and isinstance(value, str):
        hint = f"; write [{value}]"
    elif wanted == "string" and isinstance(value, (bool, int, float)):
        hint = "; put it into quotes"  # `off` and `2024` are no texts in YAML
    return f"must be {_article(wanted)}, not {value!r:.60}{hint}"


_KINDS = {list: "array", dict: "object", int: "integer", bool: "boolean", str: "string"}


def not_of_kind(value: object, sample: object) -> str:
    """Return what is wrong with `value` where one like `sample` is wanted, nothing where it is of that type."""
    return "" if type(value) is type(sample) else _must_be(_KINDS[type(sample)], value)


def _article(noun: str) -> str:
    return f"an {noun}" if noun[:1] in "aeiou" else f"a {noun}"


def meant(name: object, known: Iterable[str]) -> str | None:
    """Return which of `known` is close to `name`, None where none is."""
    import difflib

    return next(iter(difflib.get_close_matches(str(name), list(known), 1, 0.6)), None)


def suggestion(name: object, known: Iterable[str]) -> str:
    """Return `; did you mean 'x'?` where one of `known` is close to `name`, else nothing."""
    close = meant(name, known)
    return f"; did you mean {close!r}?" if close else ""
