"""Reads off the text of a function what a call of it does, as long as it can neither build nor run a model."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Protocol

from modellint.static.flow.making import brought
from modellint.static.flow.summaries import Result, Summary
from modellint.static.flow.vocabulary import MODEL_NAME
from modellint.static.guards import walk_own
from modellint.static.knowledge import Knowledge
from modellint.static.project import ClassInfo, FunctionInfo, ModuleInfo, Project
from modellint.static.project.facts import parameters
from modellint.static.project.names import arguments_of, asked_of_super, dotted_name, last_name

_METHODS = frozenset(
    "eval train parameters named_parameters modules named_modules children named_children apply register_module "
    "register_parameter".split()
)
"""Methods that show that an object is a module, or change its mode."""
_TORCH_TOOLS = tuple(
    f"torch.{part}." for part in ("onnx", "export", "jit", "quantization", "ao", "autograd", "func", "optim")
)
_TORCH_QUESTIONS = frozenset(
    f"torch.{part}"
    for part in (
        "jit.is_scripting jit.is_tracing jit.annotate jit.isinstance jit.ignore jit.unused jit.export "
        "onnx.is_in_onnx_export"
    ).split()
)
"""Functions among those tools that only ask, or say something to a compiler."""
_NUMBERS = frozenset("str int float bool len sum max min round abs open isinstance hasattr repr format any all".split())
_PLAIN_DECORATORS = frozenset(
    "staticmethod classmethod property setter deleter cached_property abstractmethod cache lru_cache "
    "contextmanager".split()
)
_REBIND = frozenset({"setattr", "globals", "map"})
_OF_TEXTS = frozenset(
    "lower upper strip lstrip rstrip split rsplit replace startswith endswith format join encode decode "
    "manual_seed".split()
)
"""Methods of texts and random generators: what they are called on is no model, whatever its name."""
_MAKERS = (
    ast.Subscript,
    ast.Attribute,
    ast.ListComp,
    ast.SetComp,
    ast.DictComp,
    ast.Await,
    ast.List,
    ast.Set,
    ast.Dict,
    ast.GeneratorExp,
)
"""Expressions whose value is another object than those that a function was given, or a part of one."""


class Loud(Exception):
    """The function has to be run."""


class Others(Protocol):
    """Tells what calls of other functions do, and making objects; None where that is to be run."""

    def summary(self, function: FunctionInfo, cls: ClassInfo | None) -> Summary | None:
        """Of a function of the project, on an object of `cls`."""

    def of_class(self, cls: ClassInfo) -> Summary | None:
        """Of a class of the project."""

    def is_module(self, cls: ClassInfo) -> bool:
        """Tell whether a class of the project is a torch module."""


def is_loud(dotted: str, knowledge: Knowledge) -> bool:
    """Tell whether calling the outside name `dotted` may build or run a model, or switch gradients."""
    return bool(
        (dotted.startswith(_TORCH_TOOLS) and dotted not in _TORCH_QUESTIONS)
        or knowledge.loaders.get(dotted)
        or knowledge.contexts.get(dotted)
        or knowledge.entry_points.get(dotted)
        or knowledge.runners.get(dotted)
        or (knowledge.wrappers.get(dotted) and not dotted.startswith("copy."))
        or (knowledge.module_bases.get(dotted) and dotted.rsplit(".", 1)[-1][:1].isupper())
    )


class Reading:
    """Reads one function; `others` tells what those do that it calls."""

    def __init__(
        self, others: Others, project: Project, knowledge: Knowledge, function: FunctionInfo, cls: ClassInfo | None
    ) -> None:
        self._others = others
        self._project = project
        self._knowledge = knowledge
        self._function = function
        self._cls = cls
        self._given = {argument.arg for argument, _ in parameters(function)}
        self._assigned: dict[str, list[ast.expr]] = {}
        self._returned: list[ast.expr | None] = []
        self._stores: set[str] = set()
        self._reads: set[tuple[ModuleInfo, str]] = set()
        self._mutates = False
        self._yields = False
        self._replaced = False
        self._passed_on: set[ast.expr] = set()
        self._parts: dict[ast.Call, Summary] = {}

    def read(self) -> None:
        """Look at every node; raise `Loud` at the first that needs running."""
        self._decorators(self._function)
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
                named = MODEL_NAME.match(node.attr) and node not in self._passed_on  # type: ignore[attr-defined]
                if named or node.attr == "training":  # type: ignore[attr-defined]
                    raise Loud
                self._stores.add(node.attr)  # type: ignore[attr-defined]
        elif kind is ast.Subscript:
            self._mutates |= type(node.ctx) is not ast.Load  # type: ignore[attr-defined]
        elif kind is ast.Assign:
            for target in node.targets:  # type: ignore[attr-defined]
                self._bind(target, node.value)  # type: ignore[attr-defined]
                if type(node.value) is ast.Name and node.value.id in self._given:  # type: ignore[attr-defined]
                    self._passed_on.add(target)  # whoever calls gave no model
        elif kind in (ast.AnnAssign, ast.NamedExpr):
            if node.value is not None:  # type: ignore[attr-defined]
                self._bind(node.target, node.value)  # type: ignore[attr-defined]
        elif kind is ast.Return:
            self._returned.append(node.value)  # type: ignore[attr-defined]
        elif kind is ast.Yield or kind is ast.YieldFrom:
            self._yields = True
        elif kind is ast.Global or kind is ast.Nonlocal:
            raise Loud

    def _decorators(self, function: FunctionInfo) -> None:
        """Note that a library's decorator may change what the function returns; those of the project have to be run."""
        if function.node is None or set(function.decorators) <= _PLAIN_DECORATORS:
            return
        for decorator in function.node.decorator_list:
            bare = decorator.func if isinstance(decorator, ast.Call) else decorator
            if last_name(bare) in _PLAIN_DECORATORS:
                continue
            symbol = self._project.resolve_in(function, bare)
            if symbol is None or symbol.target is not None:
                raise Loud
            self._outside(symbol.dotted)
            self._replaced = True

    def _inner(self, function: FunctionInfo) -> None:
        """Look at a function inside: it may be called here, and must not leave."""
        if function.nested or function.is_decorated:
            raise Loud
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
        symbol = self._project.lookup(module, name)
        if symbol is not None and symbol.variable is not None and isinstance(symbol.target, ModuleInfo):
            self._reads.add((symbol.target, symbol.variable))

    # -- calls ---------------------------------------------------------------------------------------------

    def _call(self, node: ast.Call) -> None:
        func = node.func
        if last_name(func) == "getattr" and node.args and self._is_of_library(node.args[0]):
            raise Loud  # `getattr(models, arch)()`
        if (above := asked_of_super(func)) is not None:
            self._super(node, above)
            return
        method = self._own_method(func)
        if method is not None:
            self._take(node, self._others.summary(method, self._cls))
            return
        if isinstance(func, ast.Name):
            for picked in brought(self._project, self._function, func.id):
                if isinstance(picked.target, ClassInfo) and self._others.of_class(picked.target) is None:
                    raise Loud
        symbol = self._project.resolve_in(self._function, func)
        dotted, target = (None, None) if symbol is None else (symbol.dotted, symbol.target)
        if target in self._function.nested:
            return
        if isinstance(target, FunctionInfo):
            self._take(node, self._others.summary(target, None))
        elif isinstance(target, ClassInfo):
            self._take(node, self._others.of_class(target))
        elif dotted is not None and target is None:
            self._outside(dotted)
        elif isinstance(func, ast.Attribute) and (owner := self._class(func.value)) is not None:
            self._method_of(owner, func.attr, node)
        else:
            self._unknown(func)

    def _is_of_library(self, node: ast.expr) -> bool:
        symbol = self._project.resolve_in(self._function, node)
        return symbol is not None and self._knowledge.is_library(symbol.dotted)

    def _class(self, owner: ast.expr) -> ClassInfo | None:
        """Return the class that `owner`, a method of which is called, is: itself and no object of it."""
        symbol = self._project.resolve_in(self._function, owner)
        return symbol.target if symbol is not None and isinstance(symbol.target, ClassInfo) else None

    def _method_of(self, cls: ClassInfo, name: str, node: ast.Call) -> None:
        if self._others.is_module(cls):
            raise Loud  # `Net.restore(path)`
        method = self._project.method(cls, name)
        if method is None:
            self._unknown(node.func)
        else:  # `Base.__init__(self, path)`
            self._take(node, self._others.summary(method, self._cls))

    def _outside(self, dotted: str) -> None:
        if is_loud(dotted, self._knowledge):
            raise Loud

    def _own_method(self, func: ast.expr) -> FunctionInfo | None:
        """Return the method that `self.name` is."""
        if self._cls is None or not isinstance(func, ast.Attribute) or not isinstance(func.value, ast.Name):
            return None
        if func.value.id != self._function.self_name:
            return None
        return self._project.method(self._cls, func.attr)

    def _super(self, node: ast.Call, name: str) -> None:
        own = self._function.cls
        if own is None:
            raise Loud
        for base in self._project.ancestry(own)[0][1:]:
            if name in base.methods:
                self._take(node, self._others.summary(base.methods[name], self._cls))
                return

    def _take(self, node: ast.Call, part: Summary | None) -> None:
        if part is None:
            raise Loud
        self._parts[node] = part
        self._stores |= part.stores
        self._reads |= part.reads
        self._mutates |= part.mutates

    def _unknown(self, func: ast.expr) -> None:
        """A variable is called, or a method of something: a model only if it is named like one."""
        if isinstance(func, ast.Name):
            if func.id in _REBIND or MODEL_NAME.match(func.id):
                raise Loud
            return
        self._mutates = True
        if isinstance(func, ast.Attribute) and func.attr in _METHODS:
            raise Loud
        if isinstance(func, ast.Attribute) and func.attr in _OF_TEXTS:
            return
        if isinstance(func, ast.Subscript) and (last_name(func.value) == "__dict__" or self._is_of_library(func.value)):
            raise Loud  # `resnets.__dict__[arch]()`, `sam_model_registry[kind](checkpoint)`
        while isinstance(func, (ast.Attribute, ast.Subscript, ast.Call)):
            if isinstance(func, ast.Attribute) and MODEL_NAME.match(func.attr) and func.attr != "clip":
                raise Loud
            func = func.func if isinstance(func, ast.Call) else func.value
        if isinstance(func, ast.Name) and MODEL_NAME.match(func.id):
            raise Loud

    # -- results -------------------------------------------------------------------------------------------

    def summary(self) -> Summary:
        """Return what was read; raise `Loud` where it returns a function, or a module that it made."""
        if self._yields:
            return Summary(Result(fresh=True), frozenset(self._stores), frozenset(self._reads), self._mutates)
        result = Result()
        for value in self._returned:
            result |= Result(frozenset({None})) if value is None else self._result(value, frozenset())
        if not self._returned:
            result = Result(frozenset({None}))
        if self._replaced:
            result |= Result(fresh=True, anything=True)
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
        if isinstance(node, ast.NamedExpr):
            return self._result(node.value, seen)
        if isinstance(node, _MAKERS) or (isinstance(node, ast.Tuple) and any(map(_is_starred, node.elts))):
            return Result(fresh=True)
        if isinstance(node, ast.Tuple):
            return Result(places=tuple(self._result(item, seen) for item in node.elts))
        raise Loud  # lambdas

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
                raise Loud  # a function, a class, something imported
            return Result(fresh=True)  # from a loop, a `with`, an unpacked tuple; a global, noted as read
        return result | self._union(self._result(value, seen | {name}) for value in values)

    def _called(self, node: ast.Call, seen: frozenset[str]) -> Result:
        part = self._parts.get(node)
        if part is None:
            name = dotted_name(node.func)
            plain = name in _NUMBERS and name not in self._function.stores
            return Result(anything=True) if plain or (name or "").startswith("torch.") else Result(fresh=True)
        if any(map(self._others.is_module, part.result.made)):
            raise Loud  # known as a module without weights, it is silent; as something unknown it may not be
        result = part.result._replace(given=frozenset())
        if part.result.given:
            arguments = arguments_of(node)
            result |= self._union(self._result(_bare(value), seen) for value in arguments)
        return result


def _is_starred(node: ast.expr) -> bool:
    return isinstance(node, ast.Starred)


def _bare(node: ast.expr) -> ast.expr:
    return node.value if isinstance(node, ast.Starred) else node
