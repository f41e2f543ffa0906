"""The state of a program at one point: variables, heap, autograd, and what is known of the conditions passed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from modellint.static.flow.values import UNKNOWN, Grad, Obj, Value, join, join_objects

VariableKey: TypeAlias = "tuple[int, str]"
"""The frame that owns a variable, and its name."""

ConditionKey: TypeAlias = "tuple[int, str]"
"""The frame in which a condition stands, and its text."""

MAX_SPLIT = 4
"""So many states are kept apart at one point; beyond, they join."""


class State:
    """A mutable state. Values and objects in it are immutable and shared between copies."""

    __slots__ = ("grad", "heap", "path", "variables")

    def __init__(
        self,
        variables: dict[VariableKey, Value],
        heap: dict[int, Obj],
        grad: Grad,
        path: dict[ConditionKey, bool],
    ) -> None:
        self.variables = variables
        self.heap = heap
        self.grad = grad
        self.path = path

    def copy(self) -> State:
        """Return a state that can change on its own."""
        return State(dict(self.variables), dict(self.heap), self.grad, dict(self.path))

    def forget_condition(self, name: str) -> None:
        """Drop what is known of conditions that read the variable or attribute `name`."""
        if self.path:
            stale = [key for key in self.path if name in key[1]]
            for key in stale:
                del self.path[key]


def join_states(states: Sequence[State]) -> State:
    """Return one state that covers all of `states`; the first one is changed in place."""
    first = states[0]
    for other in states[1:]:
        if other is first:
            continue
        variables = first.variables
        for key, value in other.variables.items():
            mine = variables.get(key)
            if mine is None:
                variables[key] = value
            elif mine is not value:
                variables[key] = join(mine, value)
        heap = first.heap
        for oid, obj in other.heap.items():
            known = heap.get(oid)
            if known is None:
                heap[oid] = obj
            elif known is not obj:
                heap[oid] = join_objects(known, obj)
        if first.grad != other.grad:
            same = first.grad.state == other.grad.state
            first.grad = first.grad if same else Grad(UNKNOWN, first.grad.site or other.grad.site)
        first.path = {key: value for key, value in first.path.items() if other.path.get(key) is value}
    return first


def agree(a: State, b: State) -> bool:
    """Tell whether the two say the same about modes, gradients and which objects the variables hold."""
    if a.grad.state != b.grad.state:
        return False
    heap = b.heap
    for oid, obj in a.heap.items():
        other = heap.get(oid)
        if other is None or other is obj:
            continue
        if other.modes != obj.modes or other.frozen != obj.frozen:
            return False
        if other.attrs is not obj.attrs and not _same_refs(obj, other):
            return False
    variables = b.variables
    for key, value in a.variables.items():
        theirs = variables.get(key)
        if theirs is not None and theirs is not value and theirs.refs != value.refs:
            return False
    return True


def _same_refs(a: Obj, b: Obj) -> bool:
    return all(name not in b.attrs or b.attrs[name].refs == value.refs for name, value in a.attrs.items())


def settle(states: list[State], limit: int = MAX_SPLIT) -> list[State]:
    """Join states that agree, and all of them where more than `limit` would be left."""
    if len(states) < 2:
        return states
    kept: list[State] = []
    for state in states:
        for index, other in enumerate(kept):
            if agree(other, state) and agree(state, other):
                kept[index] = join_states([other, state])
                break
        else:
            kept.append(state)
    return [join_states(kept)] if len(kept) > limit else kept
