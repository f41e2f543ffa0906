"""From configuration documents and the command line to `Settings`; every error at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from modellint.catalog import ActiveRule, DocumentError, Framework, Problem, Rule
from modellint.catalog.document import Document, KeyPath, suggestion
from modellint.diagnostic import Confidence, Severity
from modellint.settings.documents import Chain
from modellint.settings.model import ModelSettings, Overrides, Settings
from modellint.settings.selectors import Selection, closest, complaint
from modellint.sources import Glob

_SELECTORS = ("select", "extend-select", "ignore")


def build(
    chain: Chain,
    shipped: Mapping[str, Rule],
    frameworks: tuple[Framework, ...],
    overrides: Overrides,
    base: Path | None = None,
) -> Settings:
    """Return what `chain` and the command line come down to.

    File patterns count from `base`, or else from the folder of the document that they stand in. Raises
    `DocumentError` with every error of every document.
    """
    problems = list(chain.problems)
    documents = chain.documents if not problems else []
    catalogue = _catalogue(documents, shipped, problems)
    frameworks = (*frameworks, *_frameworks(documents, problems))
    for document in documents:
        problems += _unknown_names(document, catalogue)
    if problems:
        raise DocumentError(problems)

    selection = _selection(documents, chain.strict, catalogue)
    chosen = selection.chosen(catalogue, overrides.select, overrides.extend_select, overrides.ignore)
    tables = [document.data["rules"] for document in documents if isinstance(document.data.get("rules"), dict)]
    active = {code: _active(catalogue[code], tables) for code in catalogue}
    rules = MappingProxyType({code: active[code] for code in catalogue if code in chosen})
    confidence = overrides.min_confidence or _last(documents, "min-confidence", "likely")
    fail_on = overrides.fail_on or _last(documents, "fail-on", "warning")
    return Settings(
        source=documents[-1].path if documents else None,
        catalogue=catalogue,
        rules=rules,
        frameworks=frameworks,
        per_file_ignores=tuple(_per_file_ignores(documents, catalogue, base)),
        exclude=tuple(
            Glob(pattern, base or document.path.parent)
            for document in documents
            for pattern in document.data.get("exclude", ())
        ),
        min_confidence=Confidence(confidence),
        fail_on=Severity(fail_on),
        deep=overrides.deep or _last(documents, "deep", False),
        models=tuple(_models(documents, catalogue, active, rules)),
    )


def _last(documents: list[Document], key: str, default: Any) -> Any:
    return next((d.data[key] for d in reversed(documents) if key in d.data), default)


# -- files that the configuration names -------------------------------------------------------------------


def _catalogue(documents: list[Document], shipped: Mapping[str, Rule], problems: list[Problem]) -> Mapping[str, Rule]:
    from modellint.catalog.rule import clashes, collect

    paths = list(_named_files(documents, ("local-rules", "rules"), problems))
    if not paths:
        return shipped
    try:
        local = collect(paths)
    except DocumentError as error:
        problems += error.problems
        return shipped
    for rule in local.values():
        problems += clashes(rule, shipped.values())
    return MappingProxyType(dict(sorted({**shipped, **local}.items())))


def _frameworks(documents: list[Document], problems: list[Problem]) -> tuple[Framework, ...]:
    from modellint.catalog.framework import collect

    try:
        return collect(_named_files(documents, ("frameworks",), problems))
    except DocumentError as error:
        problems += error.problems
        return ()


def _named_files(documents: list[Document], keys: tuple[str, ...], problems: list[Problem]) -> Iterator[Path]:
    seen: set[Path] = set()
    for document in documents:
        for key in keys:
            patterns = document.data.get(key, [])
            for index, pattern in enumerate(patterns if isinstance(patterns, list) else ()):
                found = _expand(document.path.parent, pattern)
                if not found:
                    problems.append(document.problem((key, index), f"{pattern!r} is no file"))
                yield from (path for path in found if path not in seen)
                seen.update(found)


def _expand(folder: Path, pattern: str) -> list[Path]:
    if not any(character in pattern for character in "*?["):
        path = folder / pattern
        return [path] if path.is_file() else []
    anchor = Path(pattern).anchor
    try:
        found = Path(anchor).glob(pattern[len(anchor) :]) if anchor else folder.glob(pattern)
        return sorted(path for path in found if path.is_file())
    except (ValueError, NotImplementedError):
        return []


# -- names ------------------------------------------------------------------------------------------------


def _unknown_names(document: Document, rules: Mapping[str, Rule]) -> Iterator[Problem]:
    data = document.data
    for key in _SELECTORS:
        yield from _check_selectors(document, (key,), data.get(key, ()), rules)
    for pattern, selectors in data.get("per-file-ignores", {}).items():
        yield from _check_selectors(document, ("per-file-ignores", str(pattern)), selectors, rules)
    if isinstance(data.get("rules"), dict):
        yield from _check_rules(document, ("rules",), data["rules"], rules)
    names: dict[str, int] = {}
    for index, model in enumerate(data.get("models", ())):
        own = model.get("rules", ())
        check = _check_rules if isinstance(own, dict) else _check_selectors
        yield from check(document, ("models", index, "rules"), own, rules)
        name = model.get("name", model["target"])
        if name in names:
            key = "name" if "name" in model else "target"
            yield document.problem(("models", index, key), f"{name!r} is also the name of models[{names[name]}]")
        names[name] = index


def _check_selectors(
    document: Document, key: KeyPath, selectors: Iterable[str], rules: Mapping[str, Rule]
) -> Iterator[Problem]:
    for index, selector in enumerate(selectors):
        if message := complaint(selector, rules):
            yield document.problem((*key, index), message)


def _check_rules(
    document: Document, key: KeyPath, table: Mapping[str, Any], rules: Mapping[str, Rule]
) -> Iterator[Problem]:
    for word, entry in table.items():
        rule = _rule(word, rules)
        if rule is None:
            known = [known for rule in rules.values() for known in (rule.code, rule.name)]
            yield document.problem((*key, str(word)), f"{word!r} is no rule{suggestion(word, known)}")
            continue
        options = entry.get("options", {}) if isinstance(entry, dict) else {}
        for name, value in options.items():
            place = (*key, str(word), "options", str(name))
            if name not in rule.options:
                hint = suggestion(name, rule.options) or (
                    "; it has " + ", ".join(rule.options) if rule.options else "; it has none"
                )
                yield document.problem(place, f"{rule.code} has no option {name!r}{hint}")
            elif not _fits(value, rule.options[name].default):
                wanted = _KINDS.get(type(rule.options[name].default), "another value")
                yield document.problem(place, f"must be {wanted}, not {value!r:.60}")


_KINDS: dict[type, str] = {
    bool: "true or false",
    int: "an integer",
    float: "a number",
    str: "a string",
    list: "a list",
    dict: "a mapping",
}


def _fits(value: object, default: object) -> bool:
    """Tell whether `value` can stand in for `default`; a default of null says nothing about the type."""
    if default is None:
        return True
    if isinstance(default, bool) or isinstance(value, bool):
        return isinstance(default, bool) and isinstance(value, bool)
    if isinstance(default, float):
        return isinstance(value, int | float)
    return isinstance(value, type(default))


def _rule(word: str, rules: Mapping[str, Rule]) -> Rule | None:
    return rules.get(word) or next((rule for rule in rules.values() if rule.name == word), None)


# -- what comes out ---------------------------------------------------------------------------------------


def _selection(documents: list[Document], strict: bool, rules: Mapping[str, Rule]) -> Selection:
    select: list[str] | None = None
    ignore: list[str] = []
    extend: list[str] = []
    switched: dict[str, bool] = {}
    for document in documents:
        data = document.data
        select = data.get("select", select)
        ignore = data.get("ignore", ignore)
        extend = [*extend, *data.get("extend-select", ())]
        if isinstance(data.get("rules"), dict):
            switched |= _switched(data["rules"], rules)
    return Selection(select, extend, ignore, strict, switched)


def _switched(table: Mapping[str, Any], rules: Mapping[str, Rule]) -> Iterator[tuple[str, bool]]:
    for word, entry in table.items():
        severity = entry.get("severity") if isinstance(entry, dict) else entry
        rule = _rule(word, rules)
        if severity is not None and rule is not None:
            yield rule.code, severity not in ("off", False)


def _active(rule: Rule, tables: Iterable[Mapping[str, Any]]) -> ActiveRule:
    """Return `rule` with severity and options from `tables`, of which the last one wins."""
    severity = rule.severity
    options = {name: option.default for name, option in rule.options.items()}
    for table in tables:
        for word in (rule.name, rule.code):
            entry = table.get(word)
            entry = entry if isinstance(entry, dict) else {"severity": entry}
            if entry.get("severity") not in (None, "off", False):
                severity = Severity(entry["severity"])
            options |= entry.get("options", {})
    return ActiveRule(rule, severity, MappingProxyType(options))


def _per_file_ignores(
    documents: list[Document], rules: Mapping[str, Rule], base: Path | None
) -> Iterator[tuple[Glob, frozenset[str]]]:
    for document in documents:
        for pattern, selectors in document.data.get("per-file-ignores", {}).items():
            codes = frozenset(rule.code for rule in rules.values() if closest(selectors, rule) >= 0)
            yield Glob(str(pattern), base or document.path.parent), codes


def _models(
    documents: list[Document],
    catalogue: Mapping[str, Rule],
    active: Mapping[str, ActiveRule],
    chosen: Mapping[str, ActiveRule],
) -> Iterable[ModelSettings]:
    models: dict[str, ModelSettings] = {}
    for document in documents:
        for entry in document.data.get("models", ()):
            inputs = entry.get("inputs", ())
            name = entry.get("name", entry["target"])
            models[name] = ModelSettings(
                name=name,
                target=entry["target"],
                inputs=(inputs,) if isinstance(inputs, str) else tuple(inputs),
                mode=entry.get("mode", "as-is"),
                method=entry.get("method"),
                timeout=entry.get("timeout"),
                rules=MappingProxyType(dict(_model_rules(entry.get("rules"), catalogue, active, chosen))),
                base=document.path.parent,
            )
    return models.values()


def _model_rules(
    own: Mapping[str, Any] | list[str] | None,
    catalogue: Mapping[str, Rule],
    active: Mapping[str, ActiveRule],
    chosen: Mapping[str, ActiveRule],
) -> Iterator[tuple[str, ActiveRule]]:
    """Yield the rules that run on one model: a list selects among all, a mapping changes those that run."""
    table = own if isinstance(own, dict) else {}
    switched = dict(_switched(table, catalogue))
    for code, rule in active.items():
        runs = closest(own, rule.rule) >= 0 if isinstance(own, list) else code in chosen
        if not switched.get(code, runs):
            continue
        changed = _active(rule.rule, [table])
        severity = changed.severity if switched.get(code) else rule.severity
        entry = table.get(code) or table.get(rule.rule.name)
        options = {**rule.options, **(entry.get("options", {}) if isinstance(entry, dict) else {})}
        yield code, ActiveRule(rule.rule, severity, MappingProxyType(options))
