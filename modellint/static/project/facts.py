"""One pass over a module's tree: its imports, classes and functions, and the nodes that detectors ask for."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

FunctionNode: TypeAlias = "ast.FunctionDef | ast.AsyncFunctionDef"
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True, slots=True)
class Import:
    """What a local name was imported as. `name` is None for `import module`."""

    module: str
    level: int
    name: str | None


@dataclass(slots=True, eq=False)
class FunctionInfo:
    """A function, a method, or (with `node` None) the body of a module.

    `words` holds every name and attribute in it, nested functions included, `stores` the variables it assigns; `calls` and `statements` (bare
    expressions and `with` blocks) hold only its own, in the order of the text.
    """

    module: ModuleInfo
    name: str
    node: FunctionNode | None
    cls: ClassInfo | None
    parent: FunctionInfo | None
    words: set[str] = field(default_factory=set)
    stores: set[str] = field(default_factory=set)
    calls: list[ast.Call] = field(default_factory=list)
    statements: list[ast.Expr | ast.With | ast.AsyncWith] = field(default_factory=list)
    nested: list[FunctionInfo] = field(default_factory=list)
    classes: dict[str, ClassInfo] = field(default_factory=dict)
    functions: dict[str, FunctionInfo] = field(default_factory=dict)

    @property
    def qualname(self) -> str:
        """The dotted name inside the module, `<module>` for the module's body."""
        if self.node is None:
            return "<module>"
        outer = self.cls.name if self.cls else self.parent.qualname if self.parent and self.parent.node else ""
        return f"{outer}.{self.name}" if outer else self.name

    @property
    def body(self) -> list[ast.stmt]:
        """The statements of the function or module."""
        return self.module.tree.body if self.node is None else self.node.body

    @property
    def is_static(self) -> bool:
        """Whether it is a `staticmethod`."""
        return self._decorated("staticmethod")

    @property
    def is_classmethod(self) -> bool:
        """Whether it is a `classmethod`."""
        return self._decorated("classmethod")

    @property
    def is_property(self) -> bool:
        """Whether reading the attribute calls it."""
        return self._decorated("property") or self._decorated("cached_property")

    def _decorated(self, name: str) -> bool:
        return self.node is not None and any(last_name(d) == name for d in self.node.decorator_list)

    @property
    def self_name(self) -> str | None:
        """The name of the instance parameter of a method, else None."""
        if self.cls is None or self.node is None or self.is_static:
            return None
        arguments = self.node.args.posonlyargs + self.node.args.args
        return arguments[0].arg if arguments else None


@dataclass(slots=True, eq=False)
class ClassInfo:
    """A class of the project."""

    module: ModuleInfo
    name: str
    node: ast.ClassDef
    scope: FunctionInfo
    methods: dict[str, FunctionInfo] = field(default_factory=dict)

    @property
    def bases(self) -> list[ast.expr]:
        """The base class expressions, in order."""
        return self.node.bases


@dataclass(slots=True, eq=False)
class ModuleInfo:
    """A parsed file. `aliases` are globals that are another name for something: `F = torch.nn.functional`."""

    path: Path
    tree: ast.Module
    lines: int
    size: int
    imports: dict[str, Import] = field(default_factory=dict)
    stars: list[Import] = field(default_factory=list)
    aliases: dict[str, str] = field(default_factory=dict)
    functions: list[FunctionInfo] = field(default_factory=list)
    classes: list[ClassInfo] = field(default_factory=list)
    body: FunctionInfo = field(init=False)

    def __post_init__(self) -> None:
        self.body = FunctionInfo(self, "<module>", None, None, None)


def last_name(node: ast.expr) -> str | None:
    """Return `c` for `c`, `a.b.c` and `a.b.c(...)`, None for anything else."""
    if isinstance(node, ast.Call):
        node = node.func
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else None


def dotted_name(node: ast.expr) -> str | None:
    """Return `a.b.c` for a chain of attributes on a name, None for anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    parts.append(node.id)
    return ".".join(reversed(parts))


def scan(path: Path, tree: ast.Module, size: int) -> ModuleInfo:
    """Collect the facts of a parsed file. `size` is the length of its text in bytes."""
    module = ModuleInfo(path, tree, tree.body[-1].end_lineno or 0 if tree.body else 0, size)
    _scan(module, tree.body, module.body, None)
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target, value = statement.targets[0], statement.value
            if isinstance(target, ast.Name) and isinstance(value, (ast.Attribute, ast.Name)):
                if (dotted := dotted_name(value)) is not None and dotted != target.id:
                    module.aliases[target.id] = dotted
    for function in module.functions:
        if function.parent is not None:
            function.parent.words |= function.words
    return module


def _scan(module: ModuleInfo, nodes: list[ast.stmt], scope: FunctionInfo, cls: ClassInfo | None) -> None:
    """Walk `nodes` in text order; `cls` is set while they are the direct body of a class."""
    words, calls, statements = scope.words, scope.calls, scope.statements
    stack: list[ast.AST] = list(reversed(nodes))
    while stack:
        node = stack.pop()
        kind = type(node)
        if kind is ast.Name:
            words.add(node.id)  # type: ignore[attr-defined]
            if type(node.ctx) is ast.Store:  # type: ignore[attr-defined]
                scope.stores.add(node.id)  # type: ignore[attr-defined]
            continue
        if kind is ast.Constant:
            continue
        if kind is ast.Attribute:
            words.add(node.attr)  # type: ignore[attr-defined]
            stack.append(node.value)  # type: ignore[attr-defined]
            continue
        if kind is ast.Call:
            calls.append(node)  # type: ignore[arg-type]
        elif isinstance(node, _FUNCTIONS):
            _enter_function(module, node, scope, cls)
            stack.extend(reversed(node.decorator_list))
            stack.extend(d for d in (*node.args.defaults, *node.args.kw_defaults) if d is not None)
            continue
        elif kind is ast.ClassDef:
            _enter_class(module, node, scope)  # type: ignore[arg-type]
            stack.extend(reversed(node.decorator_list + node.bases))  # type: ignore[attr-defined]
            continue
        elif kind is ast.Import:
            for alias in node.names:  # type: ignore[attr-defined]
                root = alias.name.split(".")[0]
                module.imports[alias.asname or root] = Import(alias.name if alias.asname else root, 0, None)
            continue
        elif kind is ast.ImportFrom:
            _import_from(module, node)  # type: ignore[arg-type]
            continue
        elif kind is ast.Expr or kind is ast.With or kind is ast.AsyncWith:
            statements.append(node)  # type: ignore[arg-type]
        for name in reversed(node._fields):
            value = getattr(node, name)
            if type(value) is list:
                stack.extend(item for item in reversed(value) if isinstance(item, ast.AST))
            elif isinstance(value, ast.AST):
                stack.append(value)


def _enter_function(module: ModuleInfo, node: FunctionNode, scope: FunctionInfo, cls: ClassInfo | None) -> None:
    function = FunctionInfo(module, node.name, node, cls, scope)
    if cls is not None:
        cls.methods[node.name] = function
    else:
        scope.functions[node.name] = function
    scope.nested.append(function)
    _scan(module, node.body, function, None)
    for decorator in node.decorator_list:
        bare = decorator.func if isinstance(decorator, ast.Call) else decorator
        if (name := last_name(bare)) is not None:
            function.words.add(name)
    # inner functions come first, so that their words reach the outer ones in one pass
    module.functions.append(function)


def _enter_class(module: ModuleInfo, node: ast.ClassDef, scope: FunctionInfo) -> None:
    cls = ClassInfo(module, node.name, node, scope)
    module.classes.append(cls)
    scope.classes[node.name] = cls
    # the statements of a class body run in the scope around it, as far as mode and gradients are concerned
    _scan(module, node.body, scope, cls)


def _import_from(module: ModuleInfo, node: ast.ImportFrom) -> None:
    for alias in node.names:
        target = Import(node.module or "", node.level, alias.name)
        if alias.name == "*":
            module.stars.append(target)
        else:
            module.imports[alias.asname or alias.name] = target


def parameters(function: FunctionInfo) -> Iterator[tuple[ast.arg, ast.expr | None]]:
    """Yield each parameter of `function` with its default, in the order of the signature."""
    if function.node is None:
        return
    arguments = function.node.args
    positional = arguments.posonlyargs + arguments.args
    missing = len(positional) - len(arguments.defaults)
    for index, argument in enumerate(positional):
        yield argument, arguments.defaults[index - missing] if index >= missing else None
    if arguments.vararg:
        yield arguments.vararg, None
    yield from zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    if arguments.kwarg:
        yield arguments.kwarg, None
