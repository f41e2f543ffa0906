"""One pass over a file's tree: its imports, classes and functions, and the words that each function speaks of."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from modellint.static.project.facts import ClassInfo, FunctionInfo, Import, ModuleInfo, imported_by
from modellint.static.project.names import dotted_name, imported_by_text, last_name
from modellint.static.project.trees import FUNCTIONS, FunctionNode

WORDS = frozenset(
    "eval train training no_grad inference_mode enable_grad set_grad_enabled requires_grad_ requires_grad "
    "load_state_dict from_pretrained volatile set_training_mode create_model jit hub onnx export convert argmax "
    "topk item tolist numpy backward load register add_module setattr nn NotImplementedError".split()
)
"""The words that the analysis asks functions for; all others are forgotten with the tree."""

_HOMES = frozenset({"jit", "hub", "onnx", "export"})
"""Those of `WORDS` that a function speaks of, too, when it calls what was imported from a module of that name."""


class _Names(NamedTuple):
    """What is gathered of a function while its tree is walked."""

    words: set[str]
    callees: set[str]
    stores: set[str]


class _Pass:
    """One pass over the tree of `module`."""

    def __init__(self, module: ModuleInfo) -> None:
        self.module = module
        self._names: dict[FunctionInfo, _Names] = {}
        self.stand_ins: set[ast.stmt] = set()
        """Statements that run where an import failed."""

    def names(self, function: FunctionInfo) -> _Names:
        """Return what is gathered of a function of the file."""
        known = self._names.get(function)
        if known is None:
            known = self._names[function] = _Names(set(), set(), set())
        return known

    def conclude(self, shared: dict[frozenset[str], frozenset[str]]) -> None:
        """Give every function what was gathered of it, and of the functions inside it.

        Many sets are alike: `shared` holds the one that stands for all of them.
        """
        for function in (*self.module.functions, self.module.body):  # inner ones first
            own = self.names(function)
            if function.parent is not None:
                outer = self.names(function.parent)
                outer.words.update(own.words)
                outer.callees.update(own.callees)
            words, callees, stores = map(frozenset, own)
            function.words = shared.setdefault(words, words)
            function.callees = shared.setdefault(callees, callees)
            function.stores = shared.setdefault(stores, stores)


def scan(path: Path, text: str, tree: ast.Module, shared: dict[frozenset[str], frozenset[str]]) -> ModuleInfo:
    """Collect the facts of a parsed file; `shared` are sets of names that other files have, too."""
    module = ModuleInfo(path, text, tree)
    gathered = _Pass(module)
    _scan(gathered, tree.body, module.body, None)
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            imported = imported_by_text(statement)
            if imported is not None:
                home, _, name = imported[1].rpartition(".")
                module.imports[imported[0]] = Import(home, 0, name) if home else Import(name, 0, None)
            target, value = statement.targets[0], statement.value
            if isinstance(target, ast.Name) and isinstance(value, (ast.Attribute, ast.Name)):
                dotted = dotted_name(value)
                if dotted is not None and dotted != target.id:
                    module.aliases[target.id] = dotted
    gathered.conclude(shared)
    return module


def function_of(module: ModuleInfo, name: str, node: FunctionNode, parent: FunctionInfo) -> FunctionInfo:
    """Return the function that code without a `def` of its own is, a lambda, with the facts of what stands in it."""
    function = FunctionInfo(module, name, node, None, parent)
    gathered = _Pass(module)
    _scan(gathered, node.body, function, None)
    function.words, function.callees, function.stores = map(frozenset, gathered.names(function))
    return function


def _scan(gathered: _Pass, nodes: list[ast.stmt], scope: FunctionInfo, cls: ClassInfo | None) -> None:
    """Walk `nodes` in text order; `cls` is set while they are the direct body of a class."""
    module, names, calls, statements = gathered.module, gathered.names(scope), scope.calls, scope.statements
    words = names.words
    stack: list[ast.AST] = list(reversed(nodes))
    while stack:
        node = stack.pop()
        kind = type(node)
        if kind is ast.Name:
            if node.id in WORDS:  # type: ignore[attr-defined]
                words.add(node.id)  # type: ignore[attr-defined]
            if type(node.ctx) is ast.Store:  # type: ignore[attr-defined]
                names.stores.add(node.id)  # type: ignore[attr-defined]
            continue
        if kind is ast.Constant:
            continue
        if kind is ast.Attribute:
            if node.attr in WORDS:  # type: ignore[attr-defined]
                words.add(node.attr)  # type: ignore[attr-defined]
            stack.append(node.value)  # type: ignore[attr-defined]
            continue
        if kind is ast.Call:
            calls.append(node)  # type: ignore[arg-type]
            _note_callee(module, node, names)  # type: ignore[arg-type]
        elif isinstance(node, FUNCTIONS):
            _enter_function(gathered, node, scope, cls)
            stack.extend(reversed(node.decorator_list))
            stack.extend(d for d in (*node.args.defaults, *node.args.kw_defaults) if d is not None)
            continue
        elif kind is ast.Try:
            gathered.stand_ins.update(_stand_ins(node))  # type: ignore[arg-type]
        elif kind is ast.ClassDef:
            _enter_class(gathered, node, scope)  # type: ignore[arg-type]
            stack.extend(reversed(node.decorator_list + node.bases))  # type: ignore[attr-defined]
            continue
        elif kind is ast.Import or kind is ast.ImportFrom:
            _import(gathered, node, scope)  # type: ignore[arg-type]
            continue
        elif kind is ast.Expr or kind is ast.With or kind is ast.AsyncWith:
            statements.append(node)  # type: ignore[arg-type]
        for name in reversed(node._fields):
            value = getattr(node, name)
            if type(value) is list:
                stack.extend(item for item in reversed(value) if isinstance(item, ast.AST))
            elif isinstance(value, ast.AST):
                stack.append(value)


def _note_callee(module: ModuleInfo, call: ast.Call, names: _Names) -> None:
    name = last_name(call.func)
    if name is not None:
        names.callees.add(name)
        imported = module.imports.get(name) if isinstance(call.func, ast.Name) else None
        if imported is not None:
            names.callees.add(imported.name or name)
            names.words.update(_HOMES.intersection(imported.module.split(".")))


def _enter_function(gathered: _Pass, node: FunctionNode, scope: FunctionInfo, cls: ClassInfo | None) -> None:
    function = FunctionInfo(gathered.module, node.name, node, cls, scope)
    if cls is None:
        scope.define(function)
    elif node.name not in cls.methods or _SETTERS.isdisjoint(function.decorators):
        cls.methods[node.name] = function  # whoever reads a property calls its getter
    elif "setter" in function.decorators:
        cls.setters[node.name] = function
    scope.contain(function)
    _scan(gathered, node.body, function, None)
    for decorator in node.decorator_list:
        bare = decorator.func if isinstance(decorator, ast.Call) else decorator
        name = last_name(bare)
        if name in WORDS:
            gathered.names(function).words.add(name)
    # inner functions come first, so that their words reach the outer ones in one pass
    gathered.module.functions.append(function)


_SETTERS = frozenset({"setter", "deleter"})


def _enter_class(gathered: _Pass, node: ast.ClassDef, scope: FunctionInfo) -> None:
    cls = ClassInfo(gathered.module, node, scope)
    gathered.module.classes.append(cls)
    imported = gathered.module.imports.get(node.name) if node in gathered.stand_ins else None
    empty = not any(isinstance(statement, FUNCTIONS) for statement in node.body)
    if imported is None or imported.level > 0 or not empty:
        scope.define(cls)
    # the statements of a class body run in the scope around it, as far as mode and gradients are concerned
    _scan(gathered, node.body, scope, cls)


def _import(gathered: _Pass, node: ast.Import | ast.ImportFrom, scope: FunctionInfo) -> None:
    """Note what an import binds: in its scope, and for the file where that has nothing else of the name.

    Two imports of one name in a scope stand in branches: what it means is a question of flow, as for a variable.
    """
    module, stands_in = gathered.module, node in gathered.stand_ins
    for local, target in imported_by(node):
        before = module.imports.get(local) if scope.is_body else scope.imports.get(local)
        if local == "*":
            module.stars.append(target)
        elif stands_in and _replaces_library(module.imports.get(local), target):
            continue
        elif scope.is_body:
            module.imports[local] = target
        else:
            scope.bring_in(local, target)
            module.imports.setdefault(local, target)
        if before not in (None, target) and not stands_in:
            gathered.names(scope).stores.add(local)


def _stand_ins(node: ast.Try) -> Iterator[ast.stmt]:
    for handler in node.handlers:
        caught = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
        if any(kind is None or last_name(kind) in _NOT_INSTALLED for kind in caught):
            yield from handler.body


_NOT_INSTALLED = frozenset({"ImportError", "ModuleNotFoundError", "Exception"})


def _replaces_library(wanted: Import | None, stand_in: Import) -> bool:
    """Tell whether an import is of a stub, for a library that may be missing."""
    return wanted is not None and wanted.level == 0 and _STUB.search(stand_in.module) is not None


_STUB = re.compile(r"(^|[._])(stubs?|dummy|dummies|mocks?|fakes?|placeholders?|missing)([._]|$)")
