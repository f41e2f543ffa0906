"""What the methods of a class do for each other: templates of a base around what is overridden, a forward's helpers."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from modellint.static.classes import Classes
from modellint.static.flow.vocabulary import SWITCHES_OFF
from modellint.static.guards import conditions, path_to, walk_own
from modellint.static.naming import speaks_of_inference
from modellint.static.project import ClassInfo, FunctionInfo, ModuleInfo, Project
from modellint.static.project.names import last_name

_NAMED_FOR_ONE = re.compile(r"no_?grad|inference_?mode")  # decorators of a project's own
_ASKS = re.compile(r"grad(?!.*penalty)|^backward$")  # a penalty is for training alone
_DEEPEST = 3


def runs_without_gradients(method: FunctionInfo, project: Project, depth: int = 0) -> bool:
    """Tell whether every call of `method` through `self`, in its class and the bases, stands under no_grad.

    A call in a method that is itself called under no_grad only counts; what is named for training records on purpose.
    False where nobody calls it.
    """
    if method.cls is None or depth > _DEEPEST:
        return False
    uses = [use for use in _uses_through_self(method, project) if speaks_of_inference(use[0].name) is not False]
    return bool(uses) and all(
        under_switch(caller, node) or runs_without_gradients(caller, project, depth + 1) for caller, node in uses
    )


def is_part_of_a_forward(method: FunctionInfo, classes: Classes) -> bool:
    """Tell whether the `forward` of a module calls `method`, through `self`: it is run for whoever calls the whole."""
    if method.cls is None or method.self_name is None or not classes.is_module(method.cls):
        return False
    forward = classes.project.method(method.cls, "forward")
    if forward is None or forward is method:
        return False
    return any(ast.unparse(call.func) == f"{forward.self_name}.{method.name}" for call in forward.calls_of(method.name))


def _uses_through_self(method: FunctionInfo, project: Project) -> Iterator[tuple[FunctionInfo, ast.AST]]:
    """Yield where the class and its bases call `self.method` or hand it on, but for its own way to `super()`.

    The forward of a module is called by `self(x)` as well.
    """
    assert method.cls is not None
    for owner in project.ancestry(method.cls)[0]:
        for caller in owner.methods.values():
            for node in walk_own(caller) if caller.name != method.name else ():
                named = isinstance(node, ast.Attribute) and node.attr == method.name and _is_self(node.value, caller)
                if named or (method.name == "forward" and isinstance(node, ast.Call) and _is_self(node.func, caller)):
                    yield caller, node


def kept_as(method: FunctionInfo, project: Project) -> set[str]:
    """Return the attributes by which others call a method, `self.step = self._sample`; none if it is also handed on."""
    names: set[str] = set()
    for caller, node in _uses_through_self(method, project):
        path = path_to(caller, node)
        outer = path[-2] if len(path) > 1 else None
        if isinstance(outer, ast.Call) and outer.func is node:
            continue
        targets = outer.targets if isinstance(outer, ast.Assign) and outer.value is node else []
        kept = [target.attr for target in targets if isinstance(target, ast.Attribute)]
        if not kept or len(kept) < len(targets):
            return set()
        names.update(kept)
    return names


def differentiates(cls: ClassInfo, project: Project) -> bool:
    """Tell whether the forward of `cls` asks for gradients: forces, say, or steps of a solver.

    By itself, by a method of its own or by a function of the project named for that, `gradient(energy, x)`.
    """
    forward = project.method(cls, "forward")
    methods = [forward] if forward is not None else []
    for method in methods:
        for call in method.calls:
            symbol = project.resolve_in(method, call.func) if _ASKS.search(last_name(call.func) or "") else None
            if symbol is not None and symbol.dotted.startswith("torch.autograd."):
                return True
            if symbol is not None and isinstance(symbol.target, FunctionInfo) and symbol.target not in methods:
                methods.append(symbol.target)
        others = [project.method(cls, name) for name in method.callees if method.cls is not None]
        others += _of_parts(method)
        methods += [other for other in others if other is not None and other not in methods]
    return False


def _of_parts(method: FunctionInfo) -> list[FunctionInfo | None]:
    """Return the methods of the file's classes by the name of a gradient that a method asks of a part of its own."""
    asked = {
        call.func.attr
        for call in method.calls
        if isinstance(call.func, ast.Attribute)
        and _ASKS.search(call.func.attr)
        and isinstance(call.func.value, ast.Attribute)
        and _is_self(call.func.value.value, method)
    }
    return [cls.methods.get(name) for name in sorted(asked) for cls in method.module.classes]


def hooks_gradients(cls: ClassInfo, project: Project) -> bool:
    """Tell whether each forward of `cls`, or of a module that it builds, hooks the gradient of a tensor that it makes.

    `attention.register_hook(self.save_gradient)`: torch refuses that where autograd is off.
    """
    seen = [cls]
    for owner in seen:
        forward = project.method(owner, "forward")
        if forward is not None and any(_hooks(method) for method in _run_by(forward, owner, project)):
            return True
        init = project.method(owner, "__init__")
        always = (c for c in init.calls if next(conditions(init, c), None) is None) if init is not None else ()
        symbols = (project.resolve_in(init, call.func) for call in always) if init is not None else ()
        built = (symbol.target for symbol in symbols if symbol is not None and isinstance(symbol.target, ClassInfo))
        seen += [part for part in dict.fromkeys(built) if part not in seen]
    return False


def _run_by(forward: FunctionInfo, cls: ClassInfo, project: Project) -> list[FunctionInfo]:
    """Return a forward and the methods that it calls whatever it is given."""
    called = (call.func for call in forward.calls if next(conditions(forward, call), None) is None)
    names = [func.attr for func in called if isinstance(func, ast.Attribute) and _is_self(func.value, forward)]
    methods = (project.method(cls, name) for name in names)
    return [forward, *(method for method in methods if method is not None)]


def _hooks(method: FunctionInfo) -> bool:
    """Tell whether a method always hooks the gradient of a tensor in a variable: a parameter has one anyway."""
    return any(
        isinstance(call.func, ast.Attribute)
        and isinstance(call.func.value, ast.Name)
        and next(conditions(method, call), None) is None
        for call in method.calls_of("register_hook", "retain_grad")
    )


def builds_what_differentiates(module: ModuleInfo, project: Project) -> bool:
    """Tell whether a file builds a module whose forward asks for gradients: it may be a part of what the file runs."""
    scopes = (module.body, *module.functions)
    symbols = (project.resolve_in(scope, call.func) for scope in scopes for call in scope.calls)
    built = {symbol.target for symbol in symbols if symbol is not None and isinstance(symbol.target, ClassInfo)}
    return any(differentiates(cls, project) for cls in built)


def _is_self(node: ast.expr, method: FunctionInfo) -> bool:
    return isinstance(node, ast.Name) and node.id == method.self_name


def under_switch(caller: FunctionInfo, node: ast.AST) -> bool:
    """Tell whether `node` stands in a `with` block that switches gradients off, or in a function decorated for that."""
    decorators = caller.node.decorator_list if caller.node is not None else []
    if any(_NAMED_FOR_ONE.search(last_name(decorator) or "") for decorator in decorators):
        return True
    return any(
        isinstance(outer, (ast.With, ast.AsyncWith))
        and any(last_name(item.context_expr) in SWITCHES_OFF for item in outer.items)
        for outer in path_to(caller, node)
    )
