"""The verdict as one HTML file: no script, nothing loaded, light and dark as the reader's system has it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from importlib import resources
from typing import Any

from modellint.report.verdict.modules import tree
from modellint.report.verdict.plot import plot

_CODE = re.compile(r"`([^`]+)`")
_SIGNS = {"passed": "✓", "failed": "✗", "vacuous": "∅", "skipped": "○"}
_MANY = 12
"""Rows from which a table is folded."""


def page(document: Mapping[str, Any]) -> str:
    """Return the page that shows a document of `content`."""
    style = resources.files(__package__).joinpath("page.css").read_text("utf-8")
    models = document["models"]
    names = ", ".join(model["name"] for model in models)
    return "\n".join(
        (
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">",
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(f'modellint: {names}')}</title>\n<style>\n{style}</style>\n</head>\n<body>\n<main>",
            *(part for model in models for part in _model(model)),
            f"<footer>modellint {escape(document['modellint'])}</footer>\n</main>\n</body>\n</html>\n",
        )
    )


def _model(model: Mapping[str, Any]) -> Iterator[str]:
    probes = model["probes"]
    yield f"<section>\n<h1>{_code(model['name'])}</h1>"
    verdict = escape(model["verdict"])
    yield f'<p class="verdict {_kind(model["verdict"])}"><strong>{verdict}</strong> {_tally(model)}</p>'
    yield f'<p class="call">{_call(model)}</p>'
    if model["problem"]:
        yield f'<p class="problem">{escape(model["problem"])}</p>'
    if probes:
        yield "<h2>Probes</h2>"
        yield _table(("verdict", "probe", "difference", "what was seen", "cost"), [_row(probe) for probe in probes])
    for probe in probes:
        if probe["verdict"] == "failed" and (probe["culprits"] or probe["layers"]):
            yield from _way(probe)
    if model["findings"]:
        yield "<h2>Findings</h2>\n<ul class=findings>"
        yield from map(_finding, model["findings"])
        yield "</ul>"
    if model["next"]:
        yield "<h2>What to do next</h2>\n<ol class=next>"
        for step in model["next"]:
            title = escape(step["title"])
            if step["url"]:
                title = f'<a href="{escape(step["url"])}">{title}</a>'
            yield f"<li><strong>{title}</strong><br>{_prose(step['text'])}</li>"
        yield "</ol>"
    if model["modules"]:
        yield f"<h2>Modules</h2>\n{tree(model['modules'])}"
    if model["environment"]:
        rows = [(escape(name), _code(_value(value))) for name, value in model["environment"].items()]
        yield f"<h2>Environment</h2>\n{_table(('fact', 'value'), rows, 'environment')}"
    if model["notes"]:
        yield "<h2>Notes</h2>\n<ul>" + "".join(f"<li>{escape(note)}</li>" for note in model["notes"]) + "</ul>"
    yield "</section>"


def _call(model: Mapping[str, Any]) -> str:
    inputs = ", ".join(map(_code, model["inputs"])) or "no inputs given"
    return f"{_code(model['target'])} · {inputs} · mode {escape(model['mode'])} · {_code(model['method'])}"


def _tally(model: Mapping[str, Any]) -> str:
    counts: dict[str, int] = {}
    for probe in model["probes"]:
        counts[probe["verdict"]] = counts.get(probe["verdict"], 0) + 1
    order = [verdict for verdict in ("failed", "passed", "vacuous", "skipped") if verdict in counts]
    probes = ", ".join(f"{counts[verdict]} {verdict}" for verdict in order) or "none run"
    findings = len(model["findings"])
    return f"probes: {probes}; {findings} finding{'' if findings == 1 else 's'}"


def _row(probe: Mapping[str, Any]) -> tuple[str, ...]:
    verdict = probe["verdict"]
    cost = (
        f"{probe['forwards']} forward{'' if probe['forwards'] == 1 else 's'}, {probe['seconds']:.1f} s"
        if probe["forwards"]
        else ""
    )
    return (
        f'<span class="chip {verdict}">{_SIGNS[verdict]} {verdict}</span>',
        f"{_code(probe['probe'])}<br><small>{escape(probe['about'])} ({probe['rule']})</small>",
        _measured(probe),
        escape(probe["reason"]) + (f"<br><small>cause: {escape(probe['cause'])}</small>" if probe["cause"] else ""),
        f"<small>{cost}</small>",
    )


def _measured(probe: Mapping[str, Any]) -> str:
    if probe["difference"] is None or probe["tolerance"] is None:
        return ""
    if not probe["tolerance"] and not probe["difference"]:
        return "none, bit for bit"
    limit = f"tolerance {float(probe['tolerance']):.0e}" if probe["tolerance"] else "none is allowed"
    return f"{_number(probe['difference'])}<br><small>{limit}</small>"


def _way(probe: Mapping[str, Any]) -> Iterator[str]:
    yield f"<h2>Where {_code(probe['probe'])} goes wrong</h2>"
    for culprit in probe["culprits"]:
        where = f" in {_code(culprit['module'])}" if culprit["module"] else " in the model itself"
        place = f", {_code(culprit['place'])}" if culprit["place"] else ""
        why = f": {escape(culprit['why'])}" if culprit["why"] else ""
        yield f'<p class="culprit">{_code(culprit["op"])}{where}{place}{why}</p>'
    layers = probe["layers"]
    if not layers:
        return
    guilty = ", ".join(layer["layer"] for layer in layers if layer["verdict"] == "culprit") or "none"
    label = f"Error by layer for the probe {probe['probe']}; culprit: {guilty}"
    yield f'<figure><div class="scroll">{plot(layers, probe["tolerance"], label)}</div>'
    caption = f"Relative error, layer by layer, in the order in which they end.{_scope(probe)}"
    yield f"<figcaption>{caption}</figcaption></figure>"
    rows = [
        (
            _code(layer["layer"]),
            escape(layer["type"]),
            _number(layer["error_in"]),
            _number(layer["error_out"]),
            f'<span class="chip {layer["verdict"]}">{layer["verdict"]}</span>',
        )
        for layer in layers
    ]
    table = _table(("layer", "type", "error in", "error out", "verdict"), rows)
    shown = " open" if len(rows) <= _MANY else ""
    yield f"<details{shown}><summary>The same as a table ({len(rows)} layers)</summary>{table}</details>"


def _scope(probe: Mapping[str, Any]) -> str:
    reference = probe["details"].get("reference")
    return f" Reference: {escape(str(reference))}." if reference else ""


def _finding(finding: Mapping[str, Any]) -> str:
    code = f"{finding['code']} {finding['name']}"
    if finding["url"]:
        code = f'<a href="{escape(finding["url"])}">{escape(code)}</a>'
    causes = finding.get("explained_by") or ()
    consequence = f"<br><small>a consequence of {escape(', '.join(causes))}</small>" if causes else ""
    evidence = " · ".join(f"{escape(str(key))}: {escape(_value(value))}" for key, value in _facts(finding))
    return (
        f'<li><span class="chip {finding["severity"]}">{finding["severity"]}</span> <strong>{code}</strong> '
        f"{_code(finding['place'])}<br>{escape(finding['message'])}{consequence}"
        f"{f'<br><small>{evidence}</small>' if evidence else ''}</li>"
    )


def _facts(finding: Mapping[str, Any]) -> list[tuple[str, Any]]:
    return [(key, value) for key, value in (finding.get("evidence") or {}).items() if value not in ("", None)]


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], kind: str = "") -> str:
    """Return a table of cells that are HTML already."""
    top = "".join(f'<th scope="col">{escape(text)}</th>' for text in head)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>\n" for row in rows)
    named = f' class="{kind}"' if kind else ""
    return f'<div class="scroll"><table{named}><thead><tr>{top}</tr></thead><tbody>\n{body}</tbody></table></div>'


def _kind(verdict: str) -> str:
    return verdict if verdict in ("passed", "failed") else "open"


def _number(value: Any) -> str:
    return f"{float(value):.2g}"


def _value(value: Any) -> str:
    """Return a fact as text."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.3g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {_value(item)}" for key, item in value.items())
    return ", ".join(map(_value, value)) if isinstance(value, (list, tuple)) else str(value)


def _code(text: str) -> str:
    return f"<code>{escape(text)}</code>"


def _prose(text: str) -> str:
    """Return text of a rule, in which backticks hold code."""
    return _CODE.sub(r"<code>\1</code>", escape(text))
