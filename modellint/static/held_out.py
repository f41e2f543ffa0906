"""Data kept aside for evaluation: the names that tell it, and the ways in which a forward is given some."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import pairwise

from modellint.static.flow.events import Event
from modellint.static.flow.frames import call_at
from modellint.static.flow.vocabulary import PHASE
from modellint.static.guards import own
from modellint.static.naming import snake
from modellint.static.project import FunctionInfo
from modellint.static.project.names import last_name, names_in
from modellint.static.project.trees import walk

NAME = re.compile(r"(^|_)(test|val|valid|validation|eval|evaluation|dev|h[oe]ld_?out)\w*?(_|$)")
"""Names of data for evaluation, and of what hands it out."""

_INPUT = re.compile(
    r"^(x|xs|inputs?|data|images?|imgs?|features?|samples?|batch)_(test|valid|val|validation|eval)$|"
    r"^(test|valid|val|validation|eval)_(x|xs|inputs?|data|images?|imgs?|features?|samples?|batch)$|"
    r"^(?!(max|min|mean|sum|pixel|init|initial|default|old|new|ret|return|key|abs|hash|next|prev|last|best|str|int)_)"
    r"[a-z]\w*_(test|valid|val|validation)$"
)
_MAX_STEPS = 8


def runs_over_some(event: Event) -> bool:
    """Tell whether the innermost loop around a forward runs over held-out data, or the model is given some.

    One that counts is a part of the loop around it, where that does not train. Or the held-out part is picked from
    what it returns for a whole graph. Names say so; `val` and `dev` alone may be a value and a device, as `max_val` is.
    """
    if event.loops and any(NAME.search(snake(name)) for name in _run_over(event)):
        return True
    if any(_INPUT.search(snake(name)) for name in event.inputs):
        return True
    return _is_such_a_phase(event) or (event.trained_before and is_drawn(event)) or _is_picked_from(event)


def _run_over(event: Event) -> Iterator[str]:
    """Yield the names of what the innermost loop runs over, then of what that wraps: `with tqdm(loader) as bar:`."""
    loop = event.loops[-1]
    yield from loop.over
    for counted, around in pairwise(reversed(event.loops)):
        if "range" not in counted.over or "backward" in around.calls:
            break
        yield from filter(_APART.search, map(snake, around.over))
    wrapped = [
        (row, _innermost(value))
        for row, value, names in _bindings(event.function)
        if row < loop.row and value is not None and names & loop.over
    ]
    _, inner = max(wrapped, key=lambda item: item[0], default=(0, None))
    if inner is not None:
        yield inner


_APART = re.compile(r"(^|_)(test|val|valid|validation|eval|evaluation|h[oe]ld_?out)(_|$|loader|set|data)")
"""Names of data for evaluation, and of nothing else: many values and devices are run over, too."""


def _innermost(value: ast.expr) -> str | None:
    """Return the name of what calls wrap one in another, first argument by first argument."""
    while isinstance(value, ast.Call) and value.args:
        value = value.args[0]
    return last_name(value)


def _is_such_a_phase(event: Event) -> bool:
    """Tell whether a loop over phases of the work is at one that is no training: `for phase in ["train", "val"]`."""
    phases = {value.lower() for _, value in event.key.unrolled if isinstance(value, str)}
    return any(PHASE.match(phase) for phase in phases)


def is_drawn(event: Event) -> bool:
    """Tell whether the model is given a batch drawn from held-out data: `images, _ = next(iter(test_loader))`."""
    wanted, row = set(event.inputs), event.site.row
    for _ in range(_MAX_STEPS):
        bound = [(r, value, names) for r, value, names in _bindings(event.function) if r < row and names & wanted]
        if not bound:
            return False
        row, value, names = max(bound, key=lambda item: item[0])
        if value is None:
            return False  # each turn of a loop gets another: what that runs over was looked at
        wanted -= names
        sources = list(_drawn_from(value))
        if any(NAME.search(snake(name)) for name in sources):
            return True
        read = names_in(value)
        if any(_SAMPLE.search(snake(name)) for name in read):
            return True
        wanted |= set(sources) or read
    return False


_SAMPLE = re.compile(
    r"^(test|validation|eval)_(sentence|text|sample|example|image|img|input|data|sequence|batch)s?$|"
    r"^(test|val|valid|validation|eval)_?(data_?|d)?(set|loader)$"
)
"""Names of what is tried out, and of where it is from: `make(test_sentence)`, `draw(test_dset, 8)`."""


_INDEX = re.compile(r"(^|_)(idx|ids?|ind(ex|ices|s)?|inds?|nids?|masks?|nodes?|split)(_|$)")


def _is_picked_from(event: Event) -> bool:
    """Tell whether the held-out rows are picked from what a forward returns: `logits[test_mask]`, `out[idx_val]`."""
    call = call_at(event.function, event.site)
    made: set[str] = set()
    for row, value, names in sorted(_bindings(event.function), key=lambda item: item[0]):
        inside = list(walk(value)) if value is not None and row >= event.site.row else []
        if call in inside or any(isinstance(n, ast.Name) and n.id in made for n in inside):
            made |= names
        elif row > event.site.row:
            made -= names
    picked = [
        index
        for node in own(event.function, ast.Subscript)
        if isinstance(node.value, ast.Name) and node.value.id in made and node.lineno >= event.site.row
        for index in walk(node.slice)
        if isinstance(index, (ast.Name, ast.Attribute))
    ]
    words = [snake(last_name(index) or "") for index in picked]
    return any(NAME.search(word) and _INDEX.search(word) for word in words)


def _bindings(function: FunctionInfo) -> Iterator[tuple[int, ast.expr | None, set[str]]]:
    """Yield where names are bound, to what (None: by a loop), and which."""
    for node in own(function, ast.Assign, ast.For, ast.With):
        bound: list[tuple[ast.expr | None, ast.expr | None]]
        if isinstance(node, ast.Assign):
            bound = [(node.value, target) for target in node.targets]
        elif isinstance(node, ast.For):
            bound = [(None, node.target)]
        else:
            bound = [(item.context_expr, item.optional_vars) for item in node.items]
        for value, target in bound:
            names = names_in(target) if target is not None else set()
            yield node.lineno, value, names


def _drawn_from(value: ast.expr) -> Iterator[str]:
    """Yield the names in what an expression draws the next element of: `next(x)`, `x.next()`, `iter(x)`."""
    for node in walk(value):
        if isinstance(node, ast.Call):
            func = node.func
            if isinstance(func, ast.Name) and func.id in ("next", "iter"):
                given = node.args[:1]
            elif isinstance(func, ast.Attribute) and func.attr in ("next", "__next__"):
                given = [func.value]
            else:
                continue
            for inner in (n for item in given for n in walk(item) if isinstance(n, (ast.Name, ast.Attribute))):
                yield last_name(inner) or ""
