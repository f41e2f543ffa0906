"""Pictures of traced models: one HTML page that folds and searches, or one SVG. Self-contained: nothing is fetched."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from urllib.parse import quote

from modellint.diagnostic import Diagnostic
from modellint.report._tree import Node, badges, rows, tree
from modellint.runtime.trace import Trace

_COLORS = {
    "train": "#b35900", "eval": "#5f6b76", "random": "#7a1fa2", "batch": "#9c2a00", "norm": "#1d5d90",
    "error": "#b3001b", "warning": "#8a5a00", "info": "#1d5d90", "": "#5f6b76",
}  # fmt: skip
_STYLE = """
body{font:14px/1.5 system-ui,sans-serif;margin:2em;color:#1b1f23;background:#fff;max-width:70em}
h1{font-size:1.3em;margin:1.2em 0 .2em}ul{list-style:none;padding-left:1.4em;margin:0;border-left:1px solid #d8dee4}
li{margin:1px 0}summary{cursor:pointer}.leaf{padding-left:1.05em}.hit>details>summary,.hit>.leaf{background:#fff3bf}
b{font-weight:600}i{color:#5f6b76;font-style:normal}.badge{display:inline-block;border:1px solid;border-radius:3px;
padding:0 .35em;margin-left:.45em;font-size:.86em;line-height:1.35}.error,.warning,.random,.batch{color:#fff!important}
input{font:inherit;padding:.3em .5em;width:24em;margin:.6em 0}.gone{display:none}table{border-spacing:0 2px}
td{padding:0 .8em 0 0;vertical-align:top}a{color:inherit}
:target>.leaf,:target>details>summary{outline:2px solid #1d5d90}
"""
_SCRIPT = """
const box=document.querySelector('input'),items=[...document.querySelectorAll('li')],
started=new Map([...document.querySelectorAll('details')].map(d=>[d,d.open])),said=document.querySelector('#said');
box.addEventListener('input',()=>{const q=box.value.trim().toLowerCase();let n=0;
for(const li of items){li.classList.remove('hit');li.classList.toggle('gone',q!=='')}
for(const [d,o] of started)d.open=o;
if(q)for(const li of items)if(li.dataset.text.includes(q)){n++;li.classList.add('hit');
for(let e=li;e&&e.matches;e=e.parentElement){if(e.matches('li'))e.classList.remove('gone');
if(e.matches('details')&&e.parentElement!==li)e.open=true}}
said.textContent=q?n+(n===1?' module':' modules'):''});
"""


def html(models: Sequence[tuple[Trace, Sequence[Diagnostic]]]) -> str:
    """Return a page with the tree of each model, opened where something was found, and a field to search them."""
    style = _STYLE + "".join(_rule(name, color) for name, color in _COLORS.items() if name)
    parts = [
        "<!DOCTYPE html><html lang=en><meta charset=utf-8><title>modellint trace</title>",
        f"<style>{style}</style>",
        "<input type=search placeholder='Search modules, classes, codes' autofocus> <i id=said></i>",
    ]
    for number, (trace, diagnostics) in enumerate(models):
        root = tree(trace, diagnostics)
        count = f"{root.size:,} modules, {len(diagnostics)} finding{'' if len(diagnostics) == 1 else 's'}"
        parts.append(f"<h1>{escape(trace.target)}</h1><i>{count}</i><table>")
        parts += (_finding(diagnostic, number) for diagnostic in diagnostics)
        parts += ("</table><ul>", *_items(root, 0, number), "</ul>")
    return "".join((*parts, f"<script>{_SCRIPT}</script></html>\n"))


def _rule(name: str, color: str) -> str:
    filled = name in ("error", "warning", "random", "batch")
    return f".{name}{{color:{color};border-color:{color};{f'background:{color}' if filled else ''}}}"


def _anchor(path: str, number: int) -> str:
    return escape(f"{number}/{path}", quote=True)


def _finding(diagnostic: Diagnostic, number: int) -> str:
    """Return a row that leads to the module in the tree."""
    place = f"{diagnostic.filename}:{diagnostic.span.start.row}"
    badge = f"<span class='badge {diagnostic.severity.value}'>{diagnostic.code}</span>"
    path = (diagnostic.runtime.module_path or "") if diagnostic.runtime else ""
    link = f'<a href="#{_anchor(quote(path), number)}">{escape(diagnostic.message)}</a>'
    return f"<tr><td>{badge}<td>{link}<br><i>{escape(place)}</i></tr>"


def _items(node: Node, depth: int, number: int) -> Iterator[str]:
    marks = "".join(f"<span class='badge {kind}'>{escape(words)}</span>" for kind, words in badges(node))
    label = f"<b>{escape(node.name)}</b> <i>{escape(node.kind)}</i>{marks}"
    text = escape(" ".join((node.path, node.kind, *(words for _, words in badges(node)))).lower(), quote=True)
    yield f'<li id="{_anchor(node.path, number)}" data-text="{text}">'
    if not node.children:
        yield f"<span class=leaf>{label}</span></li>"
        return
    opened = " open" if depth == 0 or node.marked else ""
    yield f"<details{opened}><summary>{label} <i>{node.size:,}</i></summary><ul>"
    for child in node.children:
        yield from _items(child, depth + 1, number)
    yield "</ul></details></li>"


_ROW, _STEP, _CHARACTER, _LARGEST = 24, 22, 7.4, 400


def svg(models: Sequence[tuple[Trace, Sequence[Diagnostic]]]) -> str:
    """Return a drawing of the trees: modules with findings and those around them, and counts of the others."""
    drawn: list[str] = []
    y, width = 30.0, 400.0
    for trace, diagnostics in models:
        root = tree(trace, diagnostics)
        drawn.append(_text(16, y, f"{trace.target}: {root.size:,} modules", "#1b1f23", "bold"))
        lines = rows(root)
        if len(lines) > _LARGEST:
            lines = [*lines[:_LARGEST], (0, f"and {len(lines) - _LARGEST:,} rows more: use .html")]
        for depth, line in lines:
            y += _ROW
            x = 16.0 + depth * _STEP
            if isinstance(line, str):
                drawn.append(_text(x, y, line, "#8b949e"))
                continue
            label = f"{line.name}  {line.kind}"
            drawn.append(_text(x, y, label, "#1b1f23", "bold" if line.marks else "normal"))
            x += len(label) * _CHARACTER + 12
            for kind, words in badges(line):
                drawn.append(_badge(x, y, kind, words))
                x += len(words) * _CHARACTER + 20
            width = max(width, x + 16)
        y += 2 * _ROW
    size = f'width="{width:.0f}" height="{y:.0f}" viewBox="0 0 {width:.0f} {y:.0f}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="ui-monospace,monospace" font-size="12">'
    return "\n".join((head, '<rect width="100%" height="100%" fill="#fff"/>', *drawn, "</svg>\n"))


def _text(x: float, y: float, words: str, color: str, weight: str = "normal") -> str:
    shown = escape("".join(character for character in words if character.isprintable()))
    return f'<text x="{x:.0f}" y="{y:.0f}" fill="{color}" font-weight="{weight}" xml:space="preserve">{shown}</text>'


def _badge(x: float, y: float, kind: str, words: str) -> str:
    color, filled = _COLORS[kind], kind in ("error", "warning", "random", "batch")
    box = f'<rect x="{x:.0f}" y="{y - 13:.0f}" width="{len(words) * _CHARACTER + 10:.0f}" height="18" rx="3"'
    return f'{box} fill="{color if filled else "#fff"}" stroke="{color}"/>' + _text(
        x + 5, y, words, "#fff" if filled else color
    )
