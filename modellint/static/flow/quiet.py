"""Calls that need not be run: the function can neither build nor run a model, and is given none.

Most of what a script calls on its way to a forward prepares files, options and data. What such a function does is
read off its text once; a call of it then costs a look at its arguments.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, TypeAlias

from modellint.static.classes import Classes
from modellint.static.flow.values import (
    ELEMENT,
    INSTANCE,
    MODEL,
    NOTHING,
    OPAQUE,
    UNKNOWN_MODES,
    Args,
    BoundMethod,
    External,
    Obj,
    Value,
)
from modellint.static.flow.vocabulary import MODEL_NAME
from modellint.static.guards import walk_own
from modellint.static.knowledge import Knowledge
from modellint.static.project import ClassInfo, FunctionInfo, ModuleInfo, Project
from modellint.static.project.facts import parameters
from modellint.static.project.names import dotted_name, last_name

_WORDS = frozenset(
    "no_grad inference_mode enable_grad set_grad_enabled requires_grad_ requires_grad load_state_dict from_pretrained "
    "volatile set_training_mode create_model backward add_module".split()
)
"""Words that may change a mode, gradients or weights, wherever they stand."""

_METHODS = frozenset(
    "eval train parameters named_parameters modules named_modules children named_children apply register_module "
    "register_parameter".split()
)
"""Methods that show that an object is a module, or change its mode."""

_TORCH_TOOLS = tuple(
    f"torch.{part}." for part in ("onnx", "export", "jit", "quantization", "ao", "autograd", "func", "optim")
)
_NUMBERS = frozenset("str int float bool len sum max min round abs open isinstance hasattr repr format any all".split())
_PLAIN_DECORATORS = frozenset(
    "staticmethod classmethod property cached_property abstractmethod cache lru_cache contextmanager".split()
)
_REBIND = frozenset({"setattr", "globals", "map"})
_OF_TEXTS = frozenset(
    "lower upper strip lstrip rstrip split rsplit replace startswith endswith format join encode decode "
    "manual_seed".split()
)
"""Methods of texts and random generators: what they are called on is no model, whatever its name."""
_MAX_REACHED = 60


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


_RECURSION = Summary(Result(anything=True), frozenset(), frozenset(), False)


_Key: TypeAlias = "tuple[FunctionInfo | None, ClassInfo | None]"
_FREE = 1_000_000  # deeper than any cycle


class _Loud(Exception):
    """The function has to be run."""


class Quiet:
    """Answers for the functions of one project; the class is that of the object whose method is called."""

    def __init__(self, project: Project, classes: Classes, knowledge: Knowledge) -> None:
        self._project = project
        self._classes = classes
        self._knowledge = knowledge
        self._known: dict[_Key, Summary | None] = {}
        self._active: dict[_Key, int] = {}
        self._leaning = _FREE

    # -- functions -----------------------------------------------------------------------------------------

    def summary(self, function: FunctionInfo, cls: ClassInfo | None) -> Summary | None:
        """Return what a call of `function` on an object of `cls` does if it is given no model; None: run it."""
        return self._answer((function, cls), lambda: self._summarise(function, cls))

    def of_class(self, cls: ClassInfo) -> Summary | None:
        """Return what building an object of `cls` and calling its methods may do; None where that is to be run."""
        return self._answer((None, cls), lambda: self._summarise_class(cls))

    def _answer(self, key: _Key, work_out: Callable[[], Summary]) -> Summary | None:
        """Return the summary of `key`, the same whichever function of a cycle was asked for first.

        Inside a cycle a function is taken to add nothing. A summary that leans on that is kept only by the function
        at which the cycle was entered; that something has to be run is sure in any case.
        """
        if key in self._known:
            return self._known[key]
        if key in self._active:
            self._leaning = min(self._leaning, self._active[key])
            return _RECURSION
        level = self._active[key] = len(self._active)
        outer, self._leaning = self._leaning, _FREE
        result: Summary | None = None
        try:
            result = work_out()
        except _Loud:
            pass
        finally:
            del self._active[key]
        if result is None or self._leaning >= level:
            self._known[key] = result
            self._leaning = outer
        else:
            self._leaning = min(outer, self._leaning)
        return result

    def _summarise_class(self, cls: ClassInfo) -> Summary:
        if self._classes.is_module(cls):
            raise _Loud
        stores: frozenset[str] = frozenset()
        reads: frozenset[tuple[ModuleInfo, str]] = frozenset()
        for owner in self._project.ancestry(cls)[0]:
            for method in owner.methods.values():
                part = self.summary(method, cls)
                if part is None:
                    raise _Loud
                stores |= part.stores
                reads |= part.reads
        return Summary(Result(made=(cls,)), stores, reads, True)

    def _summarise(self, function: FunctionInfo, cls: ClassInfo | None) -> Summary:
        outer = function.parent
        if (
            function.node is None
            or function.classes
            or not set(function.decorators) <= _PLAIN_DECORATORS
            or not _WORDS.isdisjoint(function.words)
            or (outer is not None and not outer.is_body)
        ):
            raise _Loud
        reading = _Reading(self, function, cls)
        reading.read()
        return reading.summary()

    def resolve(self, function: FunctionInfo, func: ast.expr) -> tuple[str | None, object]:
        """Return the qualified name and the definition of what is called."""
        symbol = self._project.resolve_in(function, func)
        return (None, None) if symbol is None else (symbol.dotted, symbol.target)

    def check_external(self, dotted: str) -> None:
        """Raise where calling the outside name `dotted` may build or run a model, or switch gradients."""
        knowledge = self._knowledge
        if (
            dotted.startswith(_TORCH_TOOLS)
            or knowledge.loaders.get(dotted)
            or knowledge.contexts.get(dotted)
            or knowledge.entry_points.get(dotted)
            or knowledge.runners.get(dotted)
            or (knowledge.wrappers.get(dotted) and not dotted.startswith("copy."))
            or (knowledge.module_bases.get(dotted) and dotted.rsplit(".", 1)[-1][:1].isupper())
        ):
            raise _Loud

    @property
    def project(self) -> Project:
        """The project."""
        return self._project

    # -- values --------------------------------------------------------------------------------------------

    def is_quiet(self, value: Value, heap: object, seen: set[int]) -> bool:
        """Tell whether no model, no function and no result of a forward can be reached from `value`."""
        if value.taint:
            return False
        for symbol in value.symbols:
            if isinstance(symbol, BoundMethod):
                if not self.is_quiet(symbol.receiver, heap, seen):
                    return False
            elif not isinstance(symbol, External) or self._knowledge.is_library(symbol.dotted):
                return False
        return all(oid in seen or self._is_quiet_object(oid, heap, seen) for oid in value.refs)

    def _is_quiet_object(self, oid: int, heap: object, seen: set[int]) -> bool:
        obj: Obj = heap[oid]  # type: ignore[index]
        if obj.kind == INSTANCE and (not isinstance(obj.cls, ClassInfo) or self.of_class(obj.cls) is None):
            return False
        return self.holds_nothing(oid, heap, seen)

    def holds_nothing(self, oid: int, heap: object, seen: set[int]) -> bool:
        """Tell whether an object is no model and holds none."""
        seen.add(oid)
        obj: Obj = heap[oid]  # type: ignore[index]
        if obj.kind == MODEL or len(seen) > _MAX_REACHED:
            return False
        if obj.kind == OPAQUE and (obj.proven or (obj.part and obj.modes != UNKNOWN_MODES)):
            return False
        if obj.kind != INSTANCE and MODEL_NAME.match(obj.name):
            return False
        return all(self.is_quiet(value, heap, seen) for value in obj.attrs.values())


class _Reading:
    """Reads one function."""

    def __init__(self, quiet: Quiet, function: FunctionInfo, cls: ClassInfo | None) -> None:
        self._quiet = quiet
        self._function = function
        self._cls = cls
        self._given = {argument.arg for argument, _ in parameters(function)}
        self._assigned: dict[str, list[ast.expr]] = {}
        self._returned: list[ast.expr | None] = []
        self._stores: set[str] = set()
        self._reads: set[tuple[ModuleInfo, str]] = set()
        self._mutates = False
        self._yields = False
        self._parts: dict[ast.Call, Summary] = {}

    def read(self) -> None:
        """Look at every node; raise `_Loud` at the first that needs running."""
        own = list(walk_own(self._function))
        for inner in self._function.nested:
            self._inner(inner)
        for node in own:
            self._look(node)

    def _look(self, node: ast.AST) -> None:
        kind = type(node)
        if kind is ast.Call:
            self._call(node)  # type: ignore[arg-type]
        elif kind is ast.Name:
            self._name(node)  # type: ignore[arg-type]
        elif kind is ast.Attribute:
            if type(node.ctx) is ast.Store:  # type: ignore[attr-defined]
                if MODEL_NAME.match(node.attr) or node.attr == "training":  # type: ignore[attr-defined]
                    raise _Loud
                self._stores.add(node.attr)  # type: ignore[attr-defined]
        elif kind is ast.Subscript:
            self._mutates |= type(node.ctx) is not ast.Load  # type: ignore[attr-defined]
        elif kind is ast.Assign:
            for target in node.targets:  # type: ignore[attr-defined]
                self._bind(target, node.value)  # type: ignore[attr-defined]
        elif kind in (ast.AnnAssign, ast.NamedExpr):
            if node.value is not None:  # type: ignore[attr-defined]
                self._bind(node.target, node.value)  # type: ignore[attr-defined]
        elif kind is ast.Return:
            self._returned.append(node.value)  # type: ignore[attr-defined]
        elif kind is ast.Yield or kind is ast.YieldFrom:
            self._yields = True
        elif kind is ast.Global or kind is ast.Nonlocal:
            raise _Loud

    def _inner(self, function: FunctionInfo) -> None:
        """Look at a function inside: it may be called here, and must not leave."""
        if function.nested or function.is_decorated:
            raise _Loud
        outer = self._returned, self._assigned, self._given
        self._given = self._given | {argument.arg for argument, _ in parameters(function)} | function.stores
        self._returned, self._assigned = [], {}
        for node in walk_own(function):
            self._look(node)
        self._returned, self._assigned, self._given = outer

    def _bind(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Name):
            self._assigned.setdefault(target.id, []).append(value)

    def _name(self, node: ast.Name) -> None:
        """Note a global variable that is read: it may hold a model."""
        name, function = node.id, self._function
        if type(node.ctx) is not ast.Load or name in self._given or name in function.stores:
            return
        module = function.module
        if module.body.assigns(name):
            self._reads.add((module, name))
            return
        symbol = self._quiet.project.lookup(module, name)
        if symbol is not None and symbol.variable is not None and isinstance(symbol.target, ModuleInfo):
            self._reads.add((symbol.target, symbol.variable))

    # -- calls ---------------------------------------------------------------------------------------------

    def _call(self, node: ast.Call) -> None:
        func = node.func
        if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Call) and last_name(func.value) == "super":
            self._super(node, func.attr)
            return
        method = self._own_method(func)
        if method is not None:
            self._take(node, self._quiet.summary(method, self._cls))
            return
        dotted, target = self._quiet.resolve(self._function, func)
        if target in self._function.nested:
            return
        if isinstance(target, FunctionInfo):
            self._take(node, self._quiet.summary(target, None))
        elif isinstance(target, ClassInfo):
            self._take(node, self._quiet.of_class(target))
        elif dotted is not None and target is None:
            self._quiet.check_external(dotted)
        else:
            self._unknown(func)

    def _own_method(self, func: ast.expr) -> FunctionInfo | None:
        """Return the method that `self.name` is."""
        if self._cls is None or not isinstance(func, ast.Attribute) or not isinstance(func.value, ast.Name):
            return None
        if func.value.id != self._function.self_name:
            return None
        return self._quiet.project.method(self._cls, func.attr)

    def _super(self, node: ast.Call, name: str) -> None:
        own = self._function.cls
        if own is None:
            raise _Loud
        for base in self._quiet.project.ancestry(own)[0][1:]:
            if name in base.methods:
                self._take(node, self._quiet.summary(base.methods[name], self._cls))
                return

    def _take(self, node: ast.Call, part: Summary | None) -> None:
        if part is None:
            raise _Loud
        self._parts[node] = part
        self._stores |= part.stores
        self._reads |= part.reads
        self._mutates |= part.mutates

    def _unknown(self, func: ast.expr) -> None:
        """A variable is called, or a method of something: a model only if it is named like one."""
        if isinstance(func, ast.Name):
            if func.id in _REBIND or MODEL_NAME.match(func.id):
                raise _Loud
            return
        self._mutates = True
        if isinstance(func, ast.Attribute) and func.attr in _METHODS:
            raise _Loud
        if isinstance(func, ast.Attribute) and func.attr in _OF_TEXTS:
            return
        if isinstance(func, ast.Subscript) and last_name(func.value) == "__dict__":
            raise _Loud  # `resnets.__dict__[arch]()`
        while isinstance(func, (ast.Attribute, ast.Subscript, ast.Call)):
            if isinstance(func, ast.Attribute) and MODEL_NAME.match(func.attr) and func.attr != "clip":
                raise _Loud
            func = func.func if isinstance(func, ast.Call) else func.value
        if isinstance(func, ast.Name) and MODEL_NAME.match(func.id):
            raise _Loud

    # -- results -------------------------------------------------------------------------------------------

    def summary(self) -> Summary:
        """Return what was read."""
        if self._yields:
            return Summary(Result(fresh=True), frozenset(self._stores), frozenset(self._reads), self._mutates)
        result = Result()
        for value in self._returned:
            result |= Result(frozenset({None})) if value is None else self._result(value, frozenset())
        if not self._returned:
            result = Result(frozenset({None}))
        return Summary(result, frozenset(self._stores), frozenset(self._reads), self._mutates)

    def _result(self, node: ast.expr, seen: frozenset[str]) -> Result:
        if isinstance(node, ast.Constant):
            return Result(frozenset({node.value}))
        if isinstance(node, ast.Name):
            return self._variable(node.id, seen)
        if isinstance(node, ast.IfExp):
            return self._result(node.body, seen) | self._result(node.orelse, seen)
        if isinstance(node, ast.BoolOp):
            return self._union(self._result(value, seen) for value in node.values)
        if isinstance(node, ast.Call):
            return self._called(node, seen)
        if isinstance(node, (ast.BinOp, ast.Compare, ast.UnaryOp, ast.JoinedStr)):
            return Result(anything=True)
        if isinstance(node, (ast.Subscript, ast.Attribute, ast.ListComp, ast.SetComp, ast.DictComp, ast.Await)):
            return Result(fresh=True)
        if isinstance(node, (ast.List, ast.Set, ast.Dict, ast.GeneratorExp)):
            return Result(fresh=True)
        if isinstance(node, ast.Tuple):
            return Result(places=tuple(self._result(item, seen) for item in node.elts))
        raise _Loud  # lambdas

    @staticmethod
    def _union(results: Iterable[Result]) -> Result:
        union = Result()
        for result in results:
            union |= result
        return union

    def _variable(self, name: str, seen: frozenset[str]) -> Result:
        if name in seen:
            return Result()
        result = Result(given=frozenset({name})) if name in self._given else Result()
        values = self._assigned.get(name, [])
        if not values and name not in self._given:
            if name not in self._function.stores and not self._function.module.body.assigns(name):
                raise _Loud  # a function, a class, something imported
            return Result(fresh=True)  # from a loop, a `with`, an unpacked tuple; a global, noted as read
        return result | self._union(self._result(value, seen | {name}) for value in values)

    def _called(self, node: ast.Call, seen: frozenset[str]) -> Result:
        part = self._parts.get(node)
        if part is None:
            name = dotted_name(node.func)
            plain = name in _NUMBERS and name not in self._function.stores
            return Result(anything=True) if plain or (name or "").startswith("torch.") else Result(fresh=True)
        result = part.result._replace(given=frozenset())
        if part.result.given:
            arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
            result |= self._union(self._result(_bare(value), seen) for value in arguments)
        return result


def _bare(node: ast.expr) -> ast.expr:
    return node.value if isinstance(node, ast.Starred) else node


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
