"""What is known of a file: its imports, classes and functions, and the nodes of its tree that detectors ask for."""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from modellint.static.project.names import dotted_name, last_name
from modellint.static.project.syntax import Syntax
from modellint.static.project.trees import (
    FUNCTIONS,
    Extent,
    FunctionNode,
    Statement,
    calls_and_statements,
    extent_of,
    walk,
)


@dataclass(frozen=True, slots=True)
class Import:
    """What a local name was imported as. `name` is None for `import module`."""

    module: str
    level: int
    name: str | None


class FunctionInfo:
    """A function, a method, or the body of a module (`is_body`).

    What is asked of many functions is kept: `words` (those of `WORDS` in it) and `callees` (the last names of what it
    calls), both with the functions inside it, `stores`, the variables it assigns, and `given`, its parameters. `node`,
    `calls` and `statements` (bare expressions and `with` blocks), its own only and in the order of the text, live as
    long as the module's tree and come back with it. `memo` is for what others work out from the nodes; it goes with
    them.
    """

    __slots__ = (
        "_classes",
        "_decorators",
        "_extent",
        "_functions",
        "_imports",
        "_memo",
        "_nested",
        "_node",
        "_own",
        "callees",
        "cls",
        "given",
        "module",
        "name",
        "parent",
        "self_name",
        "stores",
        "words",
    )

    def __init__(
        self,
        module: ModuleInfo,
        name: str,
        node: FunctionNode | None,
        cls: ClassInfo | None,
        parent: FunctionInfo | None,
    ) -> None:
        self.module = module
        self.name = name
        self.cls = cls
        self.parent = parent
        self.words = self.callees = self.stores = _NO_NAMES  # until the pass over the tree is at its end
        # a project has tens of thousands of functions, and most have nothing inside
        self._nested: list[FunctionInfo] | None = None
        self._classes: dict[str, ClassInfo] | None = None
        self._functions: dict[str, FunctionInfo] | None = None
        self._imports: dict[str, Import] | None = None
        self._memo: dict[object, Any] | None = None
        self._node = node
        self._extent = extent_of(node) if node is not None else Extent(0, 0, 0, 0)
        self._own: tuple[list[ast.Call], list[Statement]] | None = ([], [])  # which `scan` fills
        self._decorators = tuple(last_name(d) for d in node.decorator_list) if node is not None else ()
        arguments = node.args.posonlyargs + node.args.args if node is not None else []
        self.self_name = arguments[0].arg if arguments and cls is not None and not self.is_static else None
        self.given = tuple(argument.arg for argument, _ in parameters(self))

    @property
    def is_body(self) -> bool:
        """Whether this stands for the top level of a module."""
        return self.parent is None and self.name == BODY

    @property
    def nested(self) -> Sequence[FunctionInfo]:
        """The functions inside it, methods of classes inside it included, not those inside these."""
        return self._nested or ()

    @property
    def classes(self) -> Mapping[str, ClassInfo]:
        """The classes that are defined in it."""
        return self._classes or {}

    @property
    def functions(self) -> Mapping[str, FunctionInfo]:
        """The functions that are defined in it, by name."""
        return self._functions or {}

    @property
    def imports(self) -> Mapping[str, Import]:
        """What its own `import` statements bind, by local name; those of a module are in `ModuleInfo.imports`."""
        return self._imports or {}

    @property
    def memo(self) -> dict[object, Any]:
        """What others worked out from its nodes."""
        if self._memo is None:
            self._memo = {}
        return self._memo

    def define(self, inner: FunctionInfo | ClassInfo) -> None:
        """Add a definition that is found by its name here."""
        if isinstance(inner, ClassInfo):
            self._classes = self._classes or {}
            self._classes[inner.name] = inner
        else:
            self._functions = self._functions or {}
            self._functions[inner.name] = inner

    def bring_in(self, local: str, imported: Import) -> None:
        """Add what an `import` statement binds here."""
        self._imports = self._imports or {}
        self._imports[local] = imported

    def contain(self, inner: FunctionInfo) -> None:
        """Add a function that stands inside."""
        self._nested = self._nested or []
        self._nested.append(inner)

    def contain_only(self, nested: Iterable[FunctionInfo], found: Iterable[FunctionInfo | ClassInfo]) -> None:
        """Replace what stands inside by `nested`, and what is found by its name by `found`."""
        self._nested, self._functions, self._classes = list(nested), None, None
        for inner in found:
            self.define(inner)

    def assigns(self, name: str) -> bool:
        """Tell whether `name` is a variable here, and no function or class that is defined here."""
        return name in self.stores and name not in self.functions and name not in self.classes

    @property
    def node(self) -> FunctionNode | None:
        """The definition; None for the body of a module."""
        if self._node is None and not self.is_body:
            self.module.syntax.bring_back(self)
        return self._node

    @property
    def rows(self) -> tuple[int, int]:
        """The rows of the definition in the file, its decorators included: the first and the last."""
        return self._extent[:2]

    @property
    def extent(self) -> Extent:
        """Where it stands, and what it holds."""
        return self._extent

    @property
    def has_node(self) -> bool:
        """Whether the definition is in memory."""
        return self._node is not None

    def inner(self) -> Iterator[FunctionInfo]:
        """Yield the functions inside it and itself, as `functions_in` orders them."""
        for function in self.nested:
            yield from function.inner()
        yield self

    @property
    def calls(self) -> list[ast.Call]:
        """The calls in it, without those in the functions inside it."""
        return self._own_nodes()[0]

    def calls_of(self, *names: str) -> list[ast.Call]:
        """Return those of `calls` whose callee has one of these last names; if there is none, nothing is parsed."""
        if self.callees.isdisjoint(names):
            return []
        return [call for call in self.calls if last_name(call.func) in names]

    @property
    def statements(self) -> list[Statement]:
        """Its bare expressions and `with` blocks."""
        return self._own_nodes()[1]

    def _own_nodes(self) -> tuple[list[ast.Call], list[Statement]]:
        if self._own is None:
            self._own = calls_and_statements(self.body)
        return self._own

    @property
    def qualname(self) -> str:
        """The dotted name inside the module, `<module>` for the module's body."""
        if self.is_body:
            return BODY
        outer = ""
        if self.cls is not None:
            outer = self.cls.name
        elif self.parent is not None and not self.parent.is_body:
            outer = self.parent.qualname
        return f"{outer}.{self.name}" if outer else self.name

    @property
    def body(self) -> list[ast.stmt]:
        """The statements of the function or module."""
        node = self.node
        return self.module.syntax.top if node is None else node.body

    @property
    def decorators(self) -> tuple[str | None, ...]:
        """The last names of its decorators."""
        return self._decorators

    @property
    def is_decorated(self) -> bool:
        """Whether it has any decorator."""
        return bool(self._decorators)

    @property
    def is_static(self) -> bool:
        """Whether it is a `staticmethod`."""
        return "staticmethod" in self._decorators

    @property
    def is_classmethod(self) -> bool:
        """Whether it is a `classmethod`."""
        return "classmethod" in self._decorators

    @property
    def is_property(self) -> bool:
        """Whether reading the attribute calls it."""
        return "property" in self._decorators or self.is_cached

    @property
    def is_cached(self) -> bool:
        """Whether it is called once, at the first reading of the attribute."""
        return "cached_property" in self._decorators

    def move(self, module: ModuleInfo, fresh: FunctionInfo) -> None:
        """Become a part of the next version of its file, in which `fresh` is the same function."""
        if self.parent is self.module.body:
            self.parent = module.body
        self.module = module
        self._memo = None
        self._extent, self.words, self.callees = fresh._extent, fresh.words, fresh.callees  # imports count for both
        self._node, self._own, self._imports = fresh._node, fresh._own, fresh._imports

    @property
    def row(self) -> int:
        """Where its definition begins."""
        return self._extent.first

    def take_node(self, node: FunctionNode | None) -> None:
        """Take over the definition in a fresh tree; None lets go of it."""
        self._memo = None
        self._node = node
        self._own = None

    def join_tree(self, node: FunctionNode) -> None:
        """Become part of a tree that has `node` in the place of the definition: what stands in that stays the same."""
        assert self._node is not None
        for name in (*node._fields, *node._attributes):
            setattr(node, name, getattr(self._node, name))
        self._node = node


class ClassInfo:
    """A class of the project. `bases` are the dotted names of its base classes, None for any other expression;
    `fields` those of a dataclass or a named tuple, in order; `setters` run where a property is assigned to; `row` is
    where it begins, `is_conditional` whether that is in a branch of its file, after an `except ImportError` say."""

    __slots__ = (
        "bases",
        "decorators",
        "fields",
        "is_conditional",
        "methods",
        "module",
        "name",
        "row",
        "scope",
        "setters",
    )

    def __init__(self, module: ModuleInfo, node: ast.ClassDef, scope: FunctionInfo) -> None:
        self.module = module
        self.name = node.name
        self.row = node.lineno
        self.is_conditional = scope.is_body and node.col_offset > 0
        self.scope = scope
        self.bases = tuple(
            dotted_name(base.value if isinstance(base, ast.Subscript) else base) for base in node.bases
        )  # `Base[T]` inherits from `Base`
        self.methods: dict[str, FunctionInfo] = {}
        self.setters: dict[str, FunctionInfo] = {}
        self.decorators = tuple(last_name(d) for d in node.decorator_list)
        bases = {(base or "").rpartition(".")[2] for base in self.bases}
        records = not (_RECORDS.isdisjoint(self.decorators) and _RECORD_BASES.isdisjoint(bases))
        self.fields = tuple(_fields_in(node)) if records else ()

    def move(self, module: ModuleInfo, fresh: ClassInfo) -> None:
        """Become a part of the next version of its file, in which `fresh` is the same class."""
        if self.scope is self.module.body:
            self.scope = module.body
        self.module, self.row = module, fresh.row


_RECORDS = frozenset({"dataclass", "define", "frozen", "mutable", "attrs", "s"})
_RECORD_BASES = frozenset({"NamedTuple", "BaseModel"})
"""Decorators and bases that write a constructor: of dataclasses, attrs (`@attr.s`), pydantic, typing."""


def _fields_in(node: ast.ClassDef) -> Iterator[str]:
    """Yield what the constructor of a record keeps as it is, in order: `x: int = 1`, and attrs' `x = attr.ib()`.

    What converters and validators make of it is not known.
    """
    if any(
        "validator" in (last_name(d) or "") for f in node.body if isinstance(f, FUNCTIONS) for d in f.decorator_list
    ):
        return
    for statement in node.body:
        made = statement.value if isinstance(statement, (ast.AnnAssign, ast.Assign)) else None
        if isinstance(made, ast.Call) and any(keyword.arg == "converter" for keyword in made.keywords):
            continue
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            yield statement.target.id
        elif isinstance(statement, ast.Assign) and isinstance(made, ast.Call) and last_name(made) in ("ib", "attrib"):
            yield from (target.id for target in statement.targets if isinstance(target, ast.Name))


class ModuleInfo:
    """A parsed file. `aliases` are globals that are another name for something: `F = torch.nn.functional`.

    `cells` holds the first row of each code cell of a notebook, `numbers` the number of each among all its cells.
    """

    def __init__(self, path: Path, text: str, tree: ast.Module) -> None:
        self.path = path
        self.syntax = Syntax(self, text, tree)
        self.imports: dict[str, Import] = {}
        self.stars: list[Import] = []
        self.aliases: dict[str, str] = {}
        self.cells: tuple[int, ...] = ()
        self.numbers: tuple[int, ...] = ()
        self.functions: list[FunctionInfo] = []
        self.classes: list[ClassInfo] = []
        self.body = FunctionInfo(self, BODY, None, None, None)
        self._last = max((node.end_lineno or 0 for node in tree.body[-1:]), default=0)

    @property
    def imported_as(self) -> str:
        """The last part of the name by which others import the file."""
        return self.path.stem if self.path.stem != "__init__" else self.path.parent.name

    @property
    def text(self) -> str:
        """What stands in the file."""
        return self.syntax.text

    @property
    def registers(self) -> bool:
        """Whether decorators of the file enter a few functions or classes into a registry, as their names say.

        A file that registers more is a zoo: which of its models a name means cannot be told anyway.
        """
        names = [name for function in self.functions for name in function.decorators]
        names += [name for cls in self.classes for name in cls.decorators]
        return 0 < sum(name is not None and "regist" in name for name in names) <= _MAX_REGISTERED

    def shows(self, statement: ast.Expr) -> bool:
        """Tell whether a notebook shows what a statement gives: the last one of its cell, without a semicolon."""
        if not self.cells or statement not in self.body.body:
            return False
        rows, cell = self.text.split("\n"), bisect_right(self.cells, statement.lineno)
        end = statement.end_lineno or statement.lineno
        last = [node for node in self.body.body if bisect_right(self.cells, node.lineno) == cell][-1]
        return statement is last and not rows[end - 1].rstrip().endswith(";")

    def table(self) -> str:
        """Return digests of all that looking up a name in the file goes by, and of its text up to the last statement.

        What stands behind that, comments and empty lines, is of no consequence for other files. Where the cells of a
        notebook are is: findings of other files name places in them.
        """
        body = self.body
        own = [sorted(body.classes), sorted(body.functions), sorted(body.stores), sorted(self.aliases.items())]
        names = [*own, sorted(map(repr, self.imports.items())), self.stars, self.registers]
        code = "\n".join(self.text.split("\n")[: self._last])
        return f"{_digest(repr(names))} {_digest(f'{self.cells} {self.numbers} {code}')}"

    @property
    def tree(self) -> ast.Module:
        """The whole syntax tree."""
        return self.syntax.tree


def _digest(text: str) -> str:
    import hashlib  # it loads OpenSSL, and only what is kept between runs asks for digests

    return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=8).hexdigest()


BODY = "<module>"
_NO_NAMES: frozenset[str] = frozenset()
_MAX_REGISTERED = 12


def imported_by(node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, Import]]:
    """Yield the names that a statement binds, `*` for all of a module, and what each stands for."""
    for alias in node.names:
        if isinstance(node, ast.ImportFrom):
            yield alias.asname or alias.name, Import(node.module or "", node.level, alias.name)
        elif alias.asname:
            yield alias.asname, Import(alias.name, 0, None)
        else:
            root = alias.name.split(".")[0]
            yield root, Import(root, 0, None)


def called_name(module: ModuleInfo, call: ast.Call) -> str | None:
    """Return the last name of what `call` calls, as its definition has it where it was imported under another name."""
    name = last_name(call.func)
    if name is not None and isinstance(call.func, ast.Name) and (imported := module.imports.get(name)) is not None:
        return imported.name or name
    return name


def taken(function: FunctionInfo) -> list[str]:
    """Return the names of what callers give to a function, in the order of the signature: without `self`."""
    return [argument.arg for argument, _ in parameters(function) if argument.arg != function.self_name]


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


def is_left_to_heirs(function: FunctionInfo) -> bool:
    """Tell whether a method does nothing but say that a class which inherits it has to define it."""
    abstract = "abstractmethod" in function.decorators
    if function.cls is None or not (abstract or "NotImplementedError" in function.words) or function.node is None:
        return False
    *before, last = function.node.body
    says = isinstance(last, ast.Raise) or (abstract and does_nothing(last))
    return says and all(does_nothing(statement) or _is_message(statement) for statement in before)


def is_left_open(function: FunctionInfo) -> bool:
    """Tell whether a method says that heirs have to define it, or does nothing at all."""
    empty = function.node is not None and all(map(does_nothing, function.node.body))
    return empty or is_left_to_heirs(function)


def does_nothing(statement: ast.stmt) -> bool:
    """Tell whether a statement is `pass`, `...` or a docstring."""
    return isinstance(statement, ast.Pass) or (
        isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    )


def _is_message(statement: ast.stmt) -> bool:
    """Tell whether a statement gives a text a name: `message = "..."`, to be raised."""
    return isinstance(statement, ast.Assign) and isinstance(statement.value, (ast.Constant, ast.JoinedStr))


def is_false(node: ast.expr | None) -> bool:
    """Tell whether an expression is `False`, as written."""
    return isinstance(node, ast.Constant) and node.value is False


def is_none(node: ast.expr | None) -> bool:
    """Tell whether an expression is `None`; what is not there is none."""
    return isinstance(node, ast.Constant) and node.value is None


def is_plain(annotation: ast.expr | None) -> bool:
    """Tell whether an annotation is of numbers or texts, or of lists of them: nothing that could be a model."""
    nodes = [] if annotation is None else list(walk(annotation))
    named = {node.id for node in nodes if isinstance(node, ast.Name)}
    spelt_out = not any(isinstance(node, ast.Attribute) for node in nodes)
    return spelt_out and not _SCALARS.isdisjoint(named) and named <= _SCALARS | _LISTS


_SCALARS = frozenset({"str", "int", "float", "bool", "bytes"})
_LISTS = frozenset({"list", "tuple", "set", "List", "Tuple", "Set", "Sequence", "Optional", "Union"})


def argument_given(call: ast.Call | None, names: tuple[str, ...], position: int | None) -> ast.expr | None:
    """Return what a call gives for an argument, by one of its names or by place; None where it gives nothing."""
    if call is None:
        return None
    for keyword in call.keywords:
        if keyword.arg in names:
            return keyword.value
    return call.args[position] if position is not None and len(call.args) > position else None


def arguments_given(function: FunctionInfo, call: ast.Call) -> dict[str, ast.expr]:
    """Return what a call gives the parameters of a function, by their names."""
    placed = zip(taken(function), call.args, strict=False)
    return dict(placed) | {k.arg: k.value for k in call.keywords if k.arg is not None}
