"""The lattice: what a name may hold, what an object may be, and how two of either join."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePath
from typing import Any, NamedTuple, TypeAlias

from modellint.static.project import ClassInfo, FunctionInfo, Symbol

# -- modes, weights, gradients ---------------------------------------------------------------------------------

TRAIN, EVAL, MIXED, UNKNOWN, ENTRY = "train", "eval", "mixed", "unknown", "entry"
"""Modes. MIXED: parts of it are in training mode. ENTRY: whatever the callers of the analysed function left; only they
can tell."""

LOADED, RANDOM = "loaded", "random"
"""Weights; UNKNOWN where nothing is known of them."""

ON, OFF = "on", "off"
"""Whether autograd records; ENTRY and UNKNOWN as above."""


class Site(NamedTuple):
    """A place in a file; 1-based row, 0-based column as in `ast`."""

    path: str
    row: int
    column: int
    end_row: int
    end_column: int

    def line_seen_from(self, path: str) -> str:
        """Return how a message of the file `path` calls the line: `12`, or `12 of other.py`."""
        return str(self.row) if self.path == path else f"{self.row} of {PurePath(self.path).name}"


CALLED = "call"
"""How an object was made that came out of a call out of sight."""

JUST_BUILT = "built here"
"""What left a model in training mode of which nothing is known but that its weights are still to be loaded."""


class ModeFact(NamedTuple):
    """A mode and what put the object into it (`site` None: nothing in sight), as a message calls it."""

    mode: str
    site: Site | None
    how: str

    @property
    def by_eval(self) -> bool:
        """Whether `eval()` was called."""
        return self.how == "eval()"

    @property
    def by_train(self) -> bool:
        """Whether it was `train()`, with an argument or without, or a hook that a library calls for training."""
        return self.how.startswith("train")

    @property
    def by_constructor(self) -> bool:
        """Whether it is the mode in which a class is built, the object's own or that of which it is a part."""
        return self.how.endswith("()") and self.how[:1].isupper()

    @property
    def by_library(self) -> bool:
        """Whether a library's loader, by its qualified name, returned it so."""
        return "." in self.how


class Grad(NamedTuple):
    """The state of autograd and what set it."""

    state: str
    site: Site | None


Modes: TypeAlias = "frozenset[ModeFact]"
Facts: TypeAlias = "frozenset[str]"

ENTRY_MODES: Modes = frozenset({ModeFact(ENTRY, None, "entry")})
UNKNOWN_MODES: Modes = frozenset({ModeFact(UNKNOWN, None, "unknown")})
UNKNOWN_WEIGHTS: Facts = frozenset({UNKNOWN})


def kinds(modes: Modes) -> set[str]:
    """Return the modes alone, without what caused them."""
    return {fact.mode for fact in modes}


# -- values ----------------------------------------------------------------------------------------------------


class External(NamedTuple):
    """Something outside the project, by its qualified name."""

    dotted: str


class ClassValue(NamedTuple):
    """A class of the project."""

    cls: ClassInfo
    dotted: str


class FunctionValue(NamedTuple):
    """A function of the project, with the frame whose variables it closes over.

    `raw` is without its decorators, `grad` what a wrapper around it does to autograd.
    """

    function: FunctionInfo
    frame: int | None
    dotted: str
    raw: bool = False
    grad: GradContext | None = None


class BoundMethod(NamedTuple):
    """`receiver.name`, not called yet."""

    name: str
    receiver: Value


class ModuleValue(NamedTuple):
    """A module or package of the project, or a name that could not be followed further."""

    symbol: Symbol


class GradContext(NamedTuple):
    """A context manager or decorator that switches autograd (`grad`; `same` leaves it), or `models` into a mode."""

    grad: str
    site: Site
    mode: str = "same"
    models: frozenset[int] = frozenset()


class Inherited(NamedTuple):
    """A class method that a class of the project has from outside, by its qualified name there."""

    dotted: str
    cls: ClassInfo


class SavedMode(NamedTuple):
    """The value of `model.training` when it was read, and the model."""

    modes: Modes
    owner: int


class Parameters(NamedTuple):
    """What `model.parameters()` yields."""

    owner: int


class Children(NamedTuple):
    """What `model.modules()` or `model.children()` yields: parts of the model, not named ones."""

    owner: int


class Partial(NamedTuple):
    """A callable with some of its arguments given, or that an autograd switch is put around: `torch.no_grad()(net)`."""

    callee: Value
    args: Args
    switch: GradContext | None = None


class SuperProxy(NamedTuple):
    """`super()` inside a method of `cls`."""

    cls: ClassInfo
    receiver: Value


class Manager(NamedTuple):
    """A call of a function written with `@contextmanager`, waiting for its `with`."""

    function: FunctionValue
    receiver: Value | None
    args: Args


AnySymbol: TypeAlias = (
    "External | ClassValue | FunctionValue | BoundMethod | ModuleValue | GradContext | Inherited | SavedMode "
    "| Parameters | Children | Partial | SuperProxy | Manager"
)

VOLATILE = -1
"""Taint beside the numbers of forwards: a tensor marked `volatile=True`."""

FIRST_LEAF = -10
"""Numbers from here down stand for tensors that were made to require a gradient, one for each place of the text."""

_FIRST_DOUBTED, _FIRST_CUT = -(1 << 30), -(1 << 31)
"""Numbers from here down stand for forwards, whose graph may have been, or was, cut off since."""

COLLECTIONS = frozenset({"torch.nn.ModuleDict", "torch.nn.ModuleList"})
"""Modules that keep others under keys, and run none."""


class Value(NamedTuple):
    """What an expression may evaluate to.

    `refs` are objects of the heap, `symbols` things known by name, `consts` the only constants it can be (None:
    not known to be a constant). `taint` holds the forwards whose results it was computed from.
    """

    refs: frozenset[int] = frozenset()
    symbols: tuple[AnySymbol, ...] = ()
    consts: frozenset[Any] | None = None
    taint: frozenset[int] = frozenset()

    def with_taint(self, taint: frozenset[int]) -> Value:
        """Return the same value, computed from `taint` as well."""
        return self if taint <= self.taint else self._replace(taint=self.taint | taint)


NOTHING = Value()
NONE = Value(consts=frozenset({None}))
_MAX_SYMBOLS, _MAX_CONSTANTS = 8, 64


def constant(value: Any) -> Value:
    """Return the value of a literal."""
    return Value(consts=frozenset({value}))


def only_constant(value: Value) -> tuple[Any] | None:
    """Return the one constant that `value` must be, in a tuple; None where it can be anything else."""
    if value.consts is not None and len(value.consts) == 1 and not value.refs and not value.symbols:
        return tuple(value.consts)
    return None


def join(a: Value, b: Value) -> Value:
    """Return what is one of the two."""
    if a is b or a == b:
        return a
    symbols = a.symbols + tuple(s for s in b.symbols if s not in a.symbols)
    consts = None if a.consts is None or b.consts is None else a.consts | b.consts
    if consts is not None and len(consts) > _MAX_CONSTANTS:  # an element of a dictionary of words, say
        consts = None
    # None beside an object is the usual "not set yet": the object decides
    if (a == NONE and (b.refs or b.symbols)) or (b == NONE and (a.refs or a.symbols)):
        consts = None
    return Value(a.refs | b.refs, symbols[:_MAX_SYMBOLS], consts, a.taint | b.taint)


def join_all(values: Iterable[Value]) -> Value:
    """Return what is one of `values`; nothing known where there are none."""
    result: Value | None = None
    for value in values:
        result = value if result is None else join(result, value)
    return NOTHING if result is None else result


def is_leaf(number: int) -> bool:
    """Tell whether a taint stands for a tensor that was made to require a gradient."""
    return _FIRST_DOUBTED < number <= FIRST_LEAF


def cut_off(taint: frozenset[int]) -> frozenset[int]:
    """Return the taint of a value that was computed from `taint` and has no graph: `x.detach()`, `x.argmax()`."""
    return frozenset(_FIRST_CUT - number for number in results(taint)) | (taint & {VOLATILE})


def perhaps_cut_off(taint: frozenset[int]) -> frozenset[int]:
    """Return the taint of what code out of sight computes from `taint`, most likely without a graph."""
    return frozenset(number if number < 0 else _FIRST_DOUBTED - number for number in taint)


def computed_alike(taint: frozenset[int], known: frozenset[int]) -> frozenset[int]:
    """Return the taint of what is computed from `taint` as a value with the taint `known` was: where that has no graph
    of what it came from, this has none either."""
    cut = cut_off(taint) if any(number <= _FIRST_CUT for number in known) else frozenset()
    if is_cut(known):
        return cut or perhaps_cut_off(taint)
    return taint | cut


def live(taint: frozenset[int]) -> Iterator[int]:
    """Yield the forwards whose graph a value has for sure."""
    return (number for number in taint if number >= 0)


def surely_live(taint: frozenset[int]) -> Iterator[int]:
    """Yield the forwards whose graph a value has whichever branch was taken: where one cuts it off, it is for that."""
    return (number for number in live(taint) if _FIRST_CUT - number not in taint)


def perhaps_live(taint: frozenset[int]) -> Iterator[int]:
    """Yield the forwards whose graph a value has or may have."""
    for number in taint:
        if number >= 0:
            yield number
        elif _FIRST_CUT < number <= _FIRST_DOUBTED:
            yield _FIRST_DOUBTED - number


def results(taint: frozenset[int]) -> Iterator[int]:
    """Yield the forwards that a value was computed from, whether it has their graphs or not."""
    yield from perhaps_live(taint)
    for number in taint:
        if number <= _FIRST_CUT:
            yield _FIRST_CUT - number


def comes_of_forwards(taint: frozenset[int]) -> bool:
    """Tell whether a value was computed from the result of any forward."""
    return any(True for _ in results(taint))


def is_cut(taint: frozenset[int]) -> bool:
    """Tell whether a value was computed from forwards, and has no graph of any, as far as is known."""
    return any(number <= _FIRST_DOUBTED for number in taint) and not any(number >= 0 for number in taint)


class Args(NamedTuple):
    """The arguments of a call. `starred` is what `*` and `**` arguments hold, joined."""

    positional: tuple[Value, ...] = ()
    keywords: Mapping[str, Value] = {}
    starred: Value | None = None

    def get(self, name: str | None, position: int | None) -> Value | None:
        """Return an argument by keyword or by position."""
        if name is not None and name in self.keywords:
            return self.keywords[name]
        if position is not None and position < len(self.positional):
            return self.positional[position]
        return None

    def every(self) -> tuple[Value, ...]:
        """Return all argument values."""
        rest = () if self.starred is None else (self.starred,)
        return (*self.positional, *self.keywords.values(), *rest)

    @property
    def taint(self) -> frozenset[int]:
        """The forwards that any argument was computed from."""
        return frozenset[int]().union(*(value.taint for value in self.every() if value.taint))


# -- objects ---------------------------------------------------------------------------------------------------

MODEL, INSTANCE, CONTAINER, OPAQUE = "model", "instance", "container", "opaque"
"""Kinds of objects. OPAQUE: nothing is known yet; a call of `.eval()` or the like makes it a MODEL."""

ELEMENT = "*"
"""The attribute of a container that stands for every element without a known index."""

SPREAD = "**"
"""The attribute in which what runs a model for a library keeps arguments of which the names are not known."""

METHODS_UNSEEN = "<methods out of sight>"
"""The attribute of a model whose class came with its weights: nobody in sight wrote its methods."""


class Obj(NamedTuple):
    """An object of the heap; immutable, so that states can share it.

    `cls` is its class (of the project, or an outside name). `attrs` holds attributes, or the elements of a
    container by the text of their index. `depends` says whether its output depends on the mode (`yes`, `no`,
    `unknown`), `detail` names a layer that does. `proven` is set once something showed that it is a torch module.
    `part` marks a part of a model reached by an attribute: it has the mode of the whole until told otherwise.
    `touched` is set once code out of sight got hold of it: that may have given it weights. `hints` is set where it was
    built around a model of a library, which most likely depends on the mode. `perhaps` are the attributes that only one
    of two branches set.
    """

    kind: str
    cls: ClassInfo | str | None
    name: str
    born: Site | None
    how: str
    modes: Modes
    weights: Facts
    attrs: Mapping[str, Value]
    depends: str = UNKNOWN
    detail: str = ""
    proven: bool = False
    frozen: bool = False
    part: bool = False
    touched: bool = False
    hints: bool = False
    perhaps: frozenset[str] = frozenset()

    @property
    def is_mere_result(self) -> bool:
        """Whether nothing is known of it but that a call out of sight made it."""
        return self.how == CALLED and self.modes == UNKNOWN_MODES


def _either_modes(a: Obj, b: Obj) -> Modes:
    """Return the modes of an object that is in one of two states.

    What a call out of sight made and one branch loads weights into was just built in the other, too.
    """
    if a.how == b.how == CALLED:
        for one, other in ((a, b), (b, a)):
            if other.is_mere_result and {fact.how for fact in one.modes} == {JUST_BUILT}:
                return one.modes
    return a.modes | b.modes


def _told_alike(obj: Obj, other: Obj) -> Obj:
    """Return an object of which nothing was known yet, with the class that it has in the other of its two states.

    What a call tells by the annotation of its argument held before the call as well.
    """
    if obj.cls is not None or obj.depends != UNKNOWN or not isinstance(other.cls, ClassInfo):
        return obj
    return obj._replace(cls=other.cls, depends=other.depends, detail=other.detail)


def join_objects(a: Obj, b: Obj) -> Obj:
    """Return an object that is in one of the two states."""
    if a is b:
        return a
    perhaps = a.perhaps | b.perhaps
    if a.attrs is b.attrs:
        attrs = a.attrs
    else:
        perhaps |= a.attrs.keys() ^ b.attrs.keys()
        merged = dict(a.attrs)
        for name, value in b.attrs.items():
            merged[name] = join(merged[name], value) if name in merged else value
        attrs = merged
    if a.cls is not b.cls:
        a, b = _told_alike(a, b), _told_alike(b, a)
    return a._replace(
        kind=a.kind if a.kind == b.kind or b.kind == OPAQUE else b.kind,
        modes=_either_modes(a, b),
        weights=a.weights | b.weights,
        attrs=attrs,
        depends=a.depends if a.depends == b.depends else UNKNOWN,
        proven=a.proven or b.proven,
        frozen=a.frozen and b.frozen,
        touched=a.touched or b.touched,
        hints=a.hints or b.hints,
        perhaps=perhaps,
    )
