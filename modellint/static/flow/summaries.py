"""What a call does that need not be run: its result, and its effects on what it is given."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from modellint.static.flow.values import ELEMENT, NOTHING, Args, Obj, Value
from modellint.static.project import ClassInfo, FunctionInfo, ModuleInfo
from modellint.static.project.facts import parameters


class Result(NamedTuple):
    """What a function returns: constants, arguments as they are, fresh objects of which nothing is known or of a
    class (`made`), a tuple with known `places`, and `anything` where it may also be a number, a text or the like."""

    consts: frozenset[object] = frozenset()
    given: frozenset[str] = frozenset()
    fresh: bool = False
    made: tuple[ClassInfo, ...] = ()
    anything: bool = False
    places: tuple[Result, ...] = ()

    def __or__(self, other: tuple[object, ...]) -> Result:
        assert isinstance(other, Result)
        places = self.places or other.places
        unlike = bool(self.places and other.places) and len(self.places) != len(other.places)
        if self.places and other.places and not unlike:
            places = tuple(mine | its for mine, its in zip(self.places, other.places, strict=True))
        return Result(
            self.consts | other.consts,
            self.given | other.given,
            self.fresh or other.fresh or unlike,
            self.made + tuple(cls for cls in other.made if cls not in self.made),
            self.anything or other.anything,
            () if unlike else places,
        )


class Summary(NamedTuple):
    """What a call does: its result, the attributes it may set, the globals it reads, whether it changes containers."""

    result: Result
    stores: frozenset[str]
    reads: frozenset[tuple[ModuleInfo, str]]
    mutates: bool


def havoc(summary: Summary, seen: Iterable[int], heap: dict[int, Obj]) -> None:
    """Forget the constants that a call may have changed in the objects it was given."""
    if not summary.stores and not summary.mutates:
        return
    for oid in seen:
        obj = heap[oid]
        if obj.kind == "container":
            if summary.mutates and obj.attrs:
                heap[oid] = obj._replace(attrs={ELEMENT: NOTHING})
        elif not summary.stores.isdisjoint(obj.attrs):
            attrs = {name: NOTHING if name in summary.stores else value for name, value in obj.attrs.items()}
            heap[oid] = obj._replace(attrs=attrs)


def given_values(function: FunctionInfo, names: frozenset[str], receiver: Value | None, args: Args) -> Iterator[Value]:
    """Yield the values of the parameters `names`."""
    listed = list(args.positional) if receiver is None else [receiver, *args.positional]
    for index, (argument, _) in enumerate(parameters(function)):
        if argument.arg not in names:
            continue
        if argument.arg in args.keywords:
            yield args.keywords[argument.arg]
        elif index < len(listed):
            yield listed[index]
        else:
            yield NOTHING
