"""The state of a program at one point: variables, heap, autograd, and what is known of the conditions passed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeAlias, TypeVar

from modellint.static.flow.values import (
    CONTAINER,
    OFF,
    UNKNOWN,
    Args,
    Grad,
    Obj,
    Value,
    join,
    join_objects,
    perhaps_cut_off,
)

VariableKey: TypeAlias = "tuple[int, str]"
"""The frame that owns a variable, and its name."""

ConditionKey: TypeAlias = "tuple[int, str]"
"""The frame in which a condition stands, and its text."""

_WORD = re.compile(r"\w+")
MAX_SPLIT = 4
"""So many states are kept apart at one point; beyond, they join."""


Key = TypeVar("Key")
Item = TypeVar("Item")


class Layer(dict[Key, Item]):
    """A dict that shows another one below it. A call writes into a layer of its own: copies and comparisons inside it
    touch only what it changed. What lies below must not change meanwhile."""

    __slots__ = ("below",)

    def __init__(self, items: Iterable[tuple[Key, Item]] = (), below: Layer[Key, Item] | None = None) -> None:
        super().__init__(items)
        self.below = below

    def __missing__(self, key: Key) -> Item:
        if self.below is None:
            raise KeyError(key)
        return self.below[key]

    def find(self, key: Key) -> Item | None:
        """Return the item of `key`, here or below; None if there is none."""
        layer: Layer[Key, Item] | None = self
        while layer is not None:
            item = dict.get(layer, key)
            if item is not None:
                return item
            layer = layer.below
        return None

    def everything(self) -> dict[Key, Item]:
        """Return the items here and below, as a plain dict."""
        return {**(self.below.everything() if self.below is not None else {}), **self}

    def fork(self) -> Layer[Key, Item]:
        """Return a copy of this layer above the same one."""
        copy: Layer[Key, Item] = Layer(self, self.below)  # type: ignore[arg-type]
        return copy


class State:
    """A mutable state. Values and objects in it are immutable and shared between copies.

    `blurred` are the objects that branches had left in different modes when they were joined, as there were too many.
    """

    __slots__ = ("blurred", "grad", "heap", "path", "variables")

    def __init__(
        self,
        variables: Layer[VariableKey, Value],
        heap: Layer[int, Obj],
        grad: Grad,
        path: dict[ConditionKey, bool],
        blurred: frozenset[int] = frozenset(),
    ) -> None:
        self.variables = variables
        self.heap = heap
        self.grad = grad
        self.path = path
        self.blurred = blurred

    @classmethod
    def empty(cls, grad: Grad) -> State:
        """Return the state of a program that has not begun."""
        return cls(Layer(), Layer(), grad, {})

    def copy(self) -> State:
        """Return a state that can change on its own."""
        return State(self.variables.fork(), self.heap.fork(), self.grad, dict(self.path), self.blurred)

    def over(self) -> State:
        """Return a state above this one, which must not change while the new one is in use."""
        return State(Layer((), self.variables), Layer((), self.heap), self.grad, dict(self.path), self.blurred)

    def onto(self, below: State) -> State:
        """Put what this state changed into the one below it, or into a copy of that, and return that."""
        below.variables.update(self.variables)
        below.heap.update(self.heap)
        below.grad = self.grad
        below.path = self.path
        below.blurred = self.blurred
        return below

    def keep(self, refs: Iterable[int], then: State) -> None:
        """Know the objects `refs`, and what they hold, as they were `then`, where this state does not know them."""
        wanted = list(refs)
        while wanted:
            oid = wanted.pop()
            if self.heap.find(oid) is None:
                self.heap[oid] = then.heap[oid]
                wanted += [ref for value in then.heap[oid].attrs.values() for ref in value.refs]

    def computed(self, taint: frozenset[int]) -> frozenset[int]:
        """Return the taint of a tensor that is computed here from `taint`: under no_grad, it has no graph."""
        return perhaps_cut_off(taint) if self.grad.state == OFF else taint

    def forget_condition(self, name: str) -> None:
        """Drop what is known of conditions that read the variable or attribute `name`."""
        if self.path:
            stale = [key for key in self.path if name in _WORD.findall(key[1])]
            for key in stale:
                del self.path[key]


def every_given(args: Args, state: State) -> Iterator[Value]:
    """Yield what a call is given, and what lists and other containers among that hold."""
    for value in args.every():
        yield value
        for oid in value.refs:
            if state.heap[oid].kind == CONTAINER:
                yield from state.heap[oid].attrs.values()


def with_elements(args: Args, state: State) -> frozenset[int]:
    """Return the forwards that arguments, or what lists among them hold, were computed from."""
    return args.taint.union(*(value.taint for value in every_given(args, state)))


def join_states(states: Sequence[State]) -> State:
    """Return one state that covers all of `states`, which lie above the same one; the first is changed in place."""
    first = states[0]
    for other in states[1:]:
        if other is first:
            continue
        _join_layers(first.variables, other.variables, join)
        _join_layers(first.heap, other.heap, join_objects)
        if first.grad != other.grad:
            same = first.grad.state == other.grad.state
            first.grad = first.grad if same else Grad(UNKNOWN, first.grad.site or other.grad.site)
        first.path = {key: value for key, value in first.path.items() if other.path.get(key) is value}
        first.blurred |= other.blurred
    return first


def _join_layers(mine: Layer[Key, Item], theirs: Layer[Key, Item], join_items: Callable[[Item, Item], Item]) -> None:
    below = mine.below
    for key, item in theirs.items():
        known = dict.get(mine, key)
        if known is None and below is not None:
            known = below.find(key)
        mine[key] = item if known is None or known is item else join_items(known, item)
    if below is not None and len(mine) > len(theirs):
        for key in mine.keys() - theirs.keys():
            unchanged = below.find(key)
            if unchanged is not None and unchanged is not mine[key]:
                mine[key] = join_items(mine[key], unchanged)


def agree(a: State, b: State) -> bool:
    """Tell whether the two say the same about modes, gradients and which objects the variables hold."""
    if not same_modes(a, b):
        return False
    for mine, theirs in _differing(a.heap, b.heap):
        if theirs.attrs is not mine.attrs and not (_same_refs(mine, theirs) and _same_refs(theirs, mine)):
            return False
    return all(mine.refs == theirs.refs for mine, theirs in _differing(a.variables, b.variables))


def same_modes(a: State, b: State) -> bool:
    """Tell whether the two say the same about the modes of the objects that both know, and about gradients."""
    if a.grad.state != b.grad.state:
        return False
    return all(
        theirs.modes == mine.modes and theirs.frozen == mine.frozen for mine, theirs in _differing(a.heap, b.heap)
    )


def _differing(a: Layer[Key, Item], b: Layer[Key, Item]) -> Iterator[tuple[Item, Item]]:
    """Yield the items of keys that both know and that are not the same object."""
    below = a.below
    for key, item in a.items():
        other = dict.get(b, key)
        if other is None and below is not None:
            other = below.find(key)
        if other is not None and other is not item:
            yield item, other
    if below is not None:
        for key in b.keys() - a.keys():
            unchanged = below.find(key)
            if unchanged is not None and unchanged is not b[key]:
                yield unchanged, b[key]


def _same_refs(a: Obj, b: Obj) -> bool:
    return all(name not in b.attrs or b.attrs[name].refs == value.refs for name, value in a.attrs.items())


def settle(states: list[State], limit: int = MAX_SPLIT) -> list[State]:
    """Join states that say the same about modes, and all of them where more than `limit` would be left."""
    if len(states) < 2:
        return states
    kept: list[State] = []
    for state in states:
        for index, other in enumerate(kept):
            if same_modes(other, state):
                kept[index] = join_states([other, state])
                break
        else:
            kept.append(state)
    if len(kept) <= limit:
        return kept
    changed = {oid for state in kept for oid in state.heap}
    modes = {oid: {obj.modes for state in kept if (obj := state.heap.find(oid)) is not None} for oid in changed}
    joined = join_states(kept)
    joined.blurred |= {oid for oid, found in modes.items() if len(found) > 1}
    return [joined]
