"""Calls that one place makes again and again without any effect on models: what they gave is given once more.

A long training loop comes by the same helpers in each lap and from each branch (what writes predictions, what matches
boxes), and would spend all its steps on them.
"""

from __future__ import annotations

from typing import NamedTuple

from modellint.static.flow.events import CallSite
from modellint.static.flow.state import State
from modellint.static.flow.values import MODEL, Args, Obj, Value, computed_alike

_TURNS = 6
"""How often a call is run before it is taken to be always the same: twice the laps of a loop."""


class _Call(NamedTuple):
    """What a call gave in `turns` that had no effect, with the objects in it; `turns` is below 0 once it had one."""

    turns: int
    value: Value
    held: dict[int, Obj]


class Repeated:
    """The calls of one starting point, by the chain of calls that leads to them."""

    def __init__(self) -> None:
        self._calls: dict[tuple[CallSite, ...], _Call] = {}

    def recall(self, chain: tuple[CallSite, ...], receiver: Value | None, args: Args, state: State) -> Value | None:
        """Return what a call gives that has been run often enough, and is given no model; None if it is to be run."""
        known = self._calls.get(chain)
        if known is None or known.turns < _TURNS:
            return None
        given = (*args.every(), *(() if receiver is None else (receiver,)))
        if any(state.heap[oid].kind == MODEL for value in given for oid in value.refs):
            return None
        for oid, obj in known.held.items():
            if state.heap.find(oid) is None:
                state.heap[oid] = obj._replace(attrs={k: _of(item, args.taint) for k, item in obj.attrs.items()})
        return _of(known.value, args.taint)

    def learn(self, chain: tuple[CallSite, ...], had_effect: bool, value: Value, state: State) -> None:
        """Take notice of what a call gave in this turn, after which the state is `state`."""
        known = self._calls.get(chain)
        turns = 1 if known is None else known.turns + 1
        if had_effect or turns == 0:
            self._calls[chain] = _Call(-1, value, {})
            return
        held = _held(value, state) if turns >= _TURNS else {}
        # what is bound to objects, or closes over a frame, means something in its own state alone
        bound = value.symbols or any(item.symbols for obj in held.values() for item in obj.attrs.values())
        self._calls[chain] = _Call(-1, value, {}) if bound else _Call(turns, value, held)


def _of(value: Value, taint: frozenset[int]) -> Value:
    """Return what a call gave once as computed from what it is given now: another model may have made that."""
    return value._replace(taint=computed_alike(taint, value.taint)) if value.taint and taint else value


def _held(value: Value, state: State) -> dict[int, Obj]:
    """Return the objects that `value` may be, and those in them."""
    found: dict[int, Obj] = {}
    queue = list(value.refs)
    while queue:
        oid = queue.pop()
        obj = state.heap.find(oid)
        if oid not in found and obj is not None:
            found[oid] = obj
            queue += [inner for item in obj.attrs.values() for inner in item.refs]
    return found
