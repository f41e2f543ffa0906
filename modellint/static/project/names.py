"""What an expression is called: the names in it, as they are written."""

from __future__ import annotations

import ast
import re

from modellint.static.project.trees import walk


def last_name(node: ast.expr) -> str | None:
    """Return `c` for `c`, `a.b.c` and `a.b.c(...)`, None for anything else."""
    if type(node) is ast.Call:
        node = node.func
    if type(node) is ast.Attribute:
        return node.attr
    return node.id if type(node) is ast.Name else None


def is_named(node: ast.AST | None, name: str | None) -> bool:
    """Tell whether a piece of code is the variable `name`, and nothing more."""
    return isinstance(node, ast.Name) and node.id == name


def is_called_on(call: ast.Call, owner: str) -> bool:
    """Tell whether a method is called, of what is written `owner`: `self.net.eval()` of `self.net`."""
    return isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) == owner


def arguments_of(call: ast.Call) -> list[ast.expr]:
    """Return what a call is given, by place or by name: `a`, `*b` and `c` of `f(a, *b, key=c)`."""
    return [*call.args, *(keyword.value for keyword in call.keywords)]


def holder(place: ast.expr) -> ast.expr:
    """Return what indices are taken of, one after the other: `self.sums` of `self.sums[0]["loss"]`; `x` of `x`."""
    while isinstance(place, ast.Subscript):
        place = place.value
    return place


def written_name(node: ast.expr) -> str:
    """Return `size` for `size`, `args.size` and `args["size"]`, nothing for anything else."""
    if isinstance(node, ast.Subscript):
        return str(node.slice.value) if isinstance(node.slice, ast.Constant) else ""
    return "" if isinstance(node, ast.Call) else last_name(node) or ""


def asked_of_super(func: ast.expr) -> str | None:
    """Return `train` for `super().train`, None for anything else."""
    if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Call) and last_name(func.value) == "super":
        return func.attr
    return None


def names_in(tree: ast.AST) -> set[str]:
    """Return the variables that stand anywhere in a piece of code: `a` and `b` of `a.x + f(b)`, and `f`."""
    return {node.id for node in walk(tree) if isinstance(node, ast.Name)}


def dotted_name(node: ast.expr) -> str | None:
    """Return `a.b.c` for a chain of attributes on a name, None for anything else."""
    if type(node) is ast.Name:
        return node.id
    parts: list[str] = []
    while type(node) is ast.Attribute:
        parts.append(node.attr)
        node = node.value
    if type(node) is not ast.Name:
        return None
    parts.append(node.id)
    return ".".join(reversed(parts))


def documented_name(dotted: str) -> str:
    """Return the name by which torch documents a class that is imported from where it is defined.

    `torch.nn.modules.rnn.LSTM` is `torch.nn.LSTM`, `torch.nn.parameter.Parameter` is `torch.nn.Parameter`.
    """
    return _DEFINED_IN.sub("torch.nn.", dotted)


_DEFINED_IN = re.compile(r"^torch\.nn\.(modules(\.[a-z_]+)?|parameter)\.(?=[A-Z])")


def imported_by_text(node: ast.Assign) -> tuple[str, str] | None:
    """Return the name that is bound to a module, or to what is in it, and its dotted name, None for other statements.

    `nn = safe_import("torch.nn")`, `nn, has_nn = optional_import("torch.nn")`, `torch = pytest.importorskip("torch")`.
    """
    call = node.value
    if not isinstance(call, ast.Call) or not call.args or len(node.targets) != 1:
        return None
    target, given, by = node.targets[0], call.args[0], last_name(call)
    if isinstance(target, ast.Tuple) and target.elts:
        target = target.elts[0]
    if not isinstance(target, ast.Name) or not isinstance(given, ast.Constant) or by is None:
        return None
    dotted = given.value
    if not isinstance(dotted, str) or not _IMPORTS.fullmatch(by) or not _DOTTED.fullmatch(dotted):
        return None
    within = [k.value.value for k in call.keywords if k.arg == "name" and isinstance(k.value, ast.Constant)]
    return target.id, ".".join([dotted, *(name for name in within if isinstance(name, str) and name)])


_IMPORTS = re.compile(r"(\w*_)?import|import_(module|optional\w*)|importorskip|_?(lazy|optional|safe|try)_import_\w+")
_DOTTED = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")
