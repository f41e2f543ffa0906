"""A context manager that switches autograd is made and thrown away, or entered without being made."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TypeGuard

from modellint.catalog import ActiveRule
from modellint.diagnostic import Confidence
from modellint.static.attributes import stored
from modellint.static.context import FileContext, Finding
from modellint.static.family import under_switch
from modellint.static.flow.decorators import bare_decorator
from modellint.static.flow.vocabulary import SWITCHES_OFF
from modellint.static.guards import alone, assignments, conditions, entered, own, path_to, values_bound, values_of
from modellint.static.narrowing import attribute_of
from modellint.static.project import FunctionInfo
from modellint.static.project.facts import is_false
from modellint.static.project.names import last_name, names_in
from modellint.static.project.trees import walk


def detect(context: FileContext, rule: ActiveRule) -> Iterator[Finding]:
    """Report autograd switches as bare statements or unread variables, and `with` blocks that name the class.

    So are assignments that look like freezing: a module has no `requires_grad` that anything reads; decorators of
    coroutine functions, and of what was computed before they were asked; and `with no_grad() and other():`.
    """
    for scope in context.scopes:
        for statement in scope.statements:
            if isinstance(statement, ast.Expr):
                for node in alone(statement):
                    if _decorates_a_result(node, context, scope):
                        yield Finding(context.site(node), {"written": f"{ast.unparse(node.func)}(...)"})
                        continue
                    bare = node.func if isinstance(node, ast.Call) else node
                    if isinstance(node, ast.Call) and node.args and not isinstance(node.args[0], ast.Constant):
                        continue  # `torch.no_grad(f)` decorates f
                    if _switches(context, scope, bare) and isinstance(bare, (ast.Attribute, ast.Name)):
                        if last_name(bare) != "enable_grad" or under_switch(scope, node):
                            yield Finding(context.site(node), {"written": ast.unparse(node)})
            else:
                for item in statement.items:
                    node = item.context_expr
                    if isinstance(node, (ast.Attribute, ast.Name)) and _switches(context, scope, node):
                        yield Finding(context.site(node), {"written": f"with {ast.unparse(node)}"})
                    last, passed_over = entered(node)
                    if isinstance(last, ast.Call) and _switches(context, scope, last.func):
                        continue  # which decides on autograd in any case
                    for left in passed_over:
                        if not isinstance(left, ast.Call) or not _switches(context, scope, left.func):
                            continue
                        if last_name(left) not in SWITCHES_OFF or not _is_off_around(scope):
                            yield Finding(context.site(left), {"written": f"{ast.unparse(left)} and ..."})
        yield from _detached_in_vain(context, scope)
        yield from _frozen_by_name(context, scope)
        yield from _frozen_by_a_misspelt_name(context, scope)
        yield from _around_coroutine(context, scope)
        calls = [(name, value) for name, value in assignments(scope) if isinstance(value, ast.Call) and not value.args]
        for name, value in _never_read(scope, [call for call in calls if _switches(context, scope, call[1].func)]):
            yield Finding(context.site(value), {"written": f"{name} = {ast.unparse(value)}"})


def _is_off_around(scope: FunctionInfo) -> bool:
    """Tell whether a decorator switches autograd off for a whole function: that this is lost inside changes nothing."""
    return any(last_name(bare_decorator(one)) in SWITCHES_OFF for one in getattr(scope.node, "decorator_list", ()))


def _detached_in_vain(context: FileContext, scope: FunctionInfo) -> Iterator[Finding]:
    """Yield `target.detach()` as a statement, of a tensor that a loss is computed from afterwards, which is trained on.

    Others have a method of that name that does something, recurrent states say: only what comes of an operator on what
    a model gave, or is picked from it, is known to be a tensor. So is a parameter that a loop goes over.
    """
    for statement in scope.statements:
        if not isinstance(statement, ast.Expr):
            continue
        for node in alone(statement):
            if not isinstance(node, ast.Call) or node.args or last_name(node) != "detach":
                continue
            owner = node.func.value if isinstance(node.func, ast.Attribute) else None
            if not isinstance(owner, ast.Name):
                continue
            loops = _loops_over(scope, owner.id)
            if loops and all(map(_takes_parameters, loops)):
                yield Finding(context.site(node), {"written": ast.unparse(node)})
                continue
            values = values_bound(scope, owner.id)
            computed = bool(values) and all(_is_computed(context, value) for value in values)
            if computed and "backward" in scope.callees and _becomes_loss(scope, owner.id, node.lineno):
                yield Finding(context.site(node), {"written": ast.unparse(node)}, Confidence.LIKELY)


def _becomes_loss(scope: FunctionInfo, name: str, row: int) -> bool:
    """Tell whether a function named for a loss is given a variable, as it is, below a row."""
    return any(
        call.lineno > row and any(isinstance(given, ast.Name) and given.id == name for given in call.args)
        for call in scope.calls
        if _LOSS.search(last_name(call.func) or "")
    )


_LOSS = re.compile(r"loss|criterion|cross_entropy|mse", re.I)


def _is_computed(context: FileContext, value: ast.expr) -> bool:
    """Tell whether a value is certainly a tensor with a graph: what a model gave, by an operator or by `.max(1)[0]`."""
    picked = False
    while True:
        match value:
            case ast.UnaryOp(operand=inner) | ast.Subscript(value=inner):
                value = inner
            case ast.Call(ast.Attribute(inner, "max" | "min" | "gather"), [_, *_]):
                value, picked = inner, True
            case _:
                break
    inside = walk(value) if isinstance(value, ast.BinOp) else [value] if picked else []
    return any(_runs_forward(context, node) for node in inside)


def _runs_forward(context: FileContext, node: ast.AST) -> bool:
    """Tell whether a call runs a model."""
    site = context.site(node) if isinstance(node, ast.Call) else None
    return site is not None and any(event.site == site for event in context.flow.events)


def _decorates_a_result(node: ast.expr, context: FileContext, scope: FunctionInfo) -> TypeGuard[ast.Call]:
    """Tell whether a switch is given what a call has computed before it: `torch.no_grad()(model(x))`."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Call):
        return False
    return any(isinstance(given, ast.Call) for given in node.args) and _switches(context, scope, node.func.func)


def _around_coroutine(context: FileContext, scope: FunctionInfo) -> Iterator[Finding]:
    """Yield the decorators of an `async def`: torch's are left as soon as the coroutine is made, before it runs.

    torch 2.13 wraps generator functions in a way of their own, coroutine functions in none (`torch.utils._contextlib`).
    """
    node = scope.node
    if not isinstance(node, ast.AsyncFunctionDef):
        return
    for decorator in node.decorator_list:
        if _switches(context, scope, bare_decorator(decorator)) and not _enters_one_itself(context, scope):
            yield Finding(context.site(decorator), {"written": f"@{ast.unparse(decorator)} async def {scope.name}"})


def _enters_one_itself(context: FileContext, scope: FunctionInfo) -> bool:
    items = (item.context_expr for block in own(scope, ast.With, ast.AsyncWith) for item in block.items)
    return any(isinstance(item, ast.Call) and _switches(context, scope, item.func) for item in items)


def _frozen_by_name(context: FileContext, scope: FunctionInfo) -> Iterator[Finding]:
    """Yield `model.requires_grad = False`, an attribute that nothing reads, and assignments to the method."""
    set_off = [node for node in own(scope, ast.Assign) if is_false(node.value)]
    for node, target in ((statement, target) for statement in set_off for target in statement.targets):
        if not isinstance(target, ast.Attribute) or target.attr not in ("requires_grad", "requires_grad_"):
            continue
        if _is_asked_for_tensor(scope, node, target.value) or _is_no_module_after_all(scope, node):
            continue
        named = ast.unparse(target.value) in _modules(context, scope, target.value)
        if isinstance(target.value, ast.Name) and any(map(_walks_parameters, _loops_over(scope, target.value.id))):
            named = False
        if _is_read(scope, target) or _is_frozen_by_a_loop(scope, node, target.value):
            continue  # a mark that goes to the parameters later, or one beside what does it
        if target.attr == "requires_grad_" or named or _is_built(context, scope, target.value):
            yield Finding(context.site(node), {"written": f"{ast.unparse(target)} = False"})


def _is_frozen_by_a_loop(scope: FunctionInfo, node: ast.Assign, owner: ast.expr) -> bool:
    """Tell whether a loop in the same block freezes the parameters of a module one by one."""
    parents = path_to(scope, node)[:-1]
    blocks = [getattr(parents[-1], name, []) for name in ("body", "orelse")] if parents else [scope.body]
    loops = [s for block in blocks if node in block for s in block if isinstance(s, ast.For)]
    over = f"{ast.unparse(owner)}.parameters()"
    return any(
        ast.unparse(step) == f"{ast.unparse(loop.target)}.requires_grad = False"
        for loop in loops
        if ast.unparse(loop.iter) == over
        for step in loop.body
    )


def _frozen_by_a_misspelt_name(context: FileContext, scope: FunctionInfo) -> Iterator[Finding]:
    """Yield `p.require_grad = False` in a loop over parameters: a new attribute, which nobody reads."""
    for node in own(scope, ast.Assign):
        target = node.targets[0]
        if not is_false(node.value) or not isinstance(target, ast.Attribute) or not isinstance(target.value, ast.Name):
            continue
        if _MISSPELT.match(target.attr) is None or _is_known(context, target.attr):
            continue
        if any(map(_takes_parameters, _loops_over(scope, target.value.id))):
            yield Finding(context.site(node), {"written": f"{ast.unparse(target)} = False"})


_MISSPELT = re.compile(r"(?!requires_grad_?$)re\w?q\w{2,6}_?(grads?|gard|gradients?)_?$")
"""What `requires_grad` becomes: `require_grad`, `requires_grads`, `requires_gradient`, `requries_grad`."""


def _is_known(context: FileContext, name: str) -> bool:
    """Tell whether a file reads an attribute, or names it in a string: a mark of its own."""
    text = context.module.text
    return re.search(rf"[\"']{name}[\"']|def {name}\b|\.{name}\b(?!\s*=[^=])", text) is not None


def _takes_parameters(loop: ast.For) -> bool:
    """Tell whether a loop goes over the parameters of a module: `for name, p in list(net.named_parameters())[:8]:`."""
    over = loop.iter
    while True:
        match over:
            case ast.Subscript(value=inner):
                over = inner
            case ast.Call(ast.Name("list" | "enumerate" | "reversed" | "tuple"), [inner, *_]):
                over = inner
            case _:
                break
    return isinstance(over, ast.Call) and _gives_parameters(over)


def _is_read(scope: FunctionInfo, target: ast.Attribute) -> bool:
    written = ast.unparse(target)
    return any(isinstance(n.ctx, ast.Load) and ast.unparse(n) == written for n in own(scope, ast.Attribute))


def _is_asked_for_tensor(scope: FunctionInfo, node: ast.AST, owner: ast.expr) -> bool:
    """Tell whether `node` stands where `isinstance(owner, nn.Parameter)`, or a tensor, was found."""
    asked = (test for test, holds in conditions(scope, node) if holds and isinstance(test, ast.Call))
    return any(
        last_name(test.func) == "isinstance"
        and ast.unparse(test.args[0]) == ast.unparse(owner)
        and last_name(test.args[-1]) in ("Parameter", "Tensor")
        for test in asked
    )


def _is_no_module_after_all(scope: FunctionInfo, node: ast.AST) -> bool:
    """Tell whether `node` stands where a method of modules was missing: `except AttributeError:`."""
    caught = [outer.type for outer in path_to(scope, node) if isinstance(outer, ast.ExceptHandler)]
    return any(kind is not None and "AttributeError" in ast.unparse(kind) for kind in caught)


def _modules(context: FileContext, scope: FunctionInfo, owner: ast.expr) -> set[str]:
    """Return what has methods that modules alone have, in a function, or in its class for what the object keeps."""
    scopes = [scope]
    if isinstance(owner, ast.Attribute) and scope.cls is not None:
        scopes = list(scope.cls.methods.values())
    if any("requires_grad" in cls.methods for cls in context.module.classes):
        return set()
    if isinstance(owner, ast.Name) and sum(map(_is_picked_by_name, values_of(scope, owner.id))) > 1:
        return set()
    calls = (call.func for one in scopes for name in _OF_MODULES for call in one.calls_of(name))
    return {ast.unparse(func.value) for func in calls if isinstance(func, ast.Attribute)}


def _is_picked_by_name(value: ast.expr) -> bool:
    """Tell whether a value is `getattr(self, f"pos_embed{i}")`: one of that row may be a parameter, others modules."""
    return any(isinstance(given, ast.JoinedStr) for given in getattr(value, "args", ()))


def _is_built(context: FileContext, scope: FunctionInfo, owner: ast.expr) -> bool:
    """Tell whether a function, or its class, makes a torch module and names it so, or is one that never asks again."""
    cls, classes = scope.cls, context.classes
    if isinstance(owner, ast.Name) and owner.id != scope.self_name:
        made = [value for name, value in assignments(scope) if name == owner.id]
        if not made:
            loops = _loops_over(scope, owner.id)
            walked = bool(loops) and all(_walks_modules(loop, scope, context) for loop in loops)
            return walked and not _asks_a_flag_of_its_own(context)
        return all(isinstance(v, ast.Call) and classes.names_module(scope, v.func) for v in made)
    if cls is None or not classes.is_module(cls):
        return False
    if isinstance(owner, ast.Name):
        return not any(
            node.attr == "requires_grad" and isinstance(node.ctx, ast.Load) and ast.unparse(node.value) == owner.id
            for method in cls.methods.values()
            for node in own(method, ast.Attribute)
        )
    attribute = attribute_of(owner, scope.self_name or "")
    if attribute is None or not classes.builds_child(cls, attribute):
        return False
    return not any(
        _makes_parameter(value) for method in cls.methods.values() for n, value in stored(method) if n == attribute
    )


def _loops_over(scope: FunctionInfo, name: str) -> list[ast.For]:
    """Return the loops that bind a variable."""
    return [loop for loop in own(scope, ast.For) if name in names_in(loop.target)]


def _walks_modules(loop: ast.For, scope: FunctionInfo, context: FileContext) -> bool:
    """Tell whether a loop takes the modules of the module itself one by one: `for m in self.modules():`."""
    asked = attribute_of(loop.iter.func, scope.self_name or "") if isinstance(loop.iter, ast.Call) else None
    wanted = ("named_modules", "named_children") if isinstance(loop.target, ast.Tuple) else ("modules", "children")
    return asked in wanted and scope.cls is not None and context.classes.is_module(scope.cls)


def _walks_parameters(loop: ast.For) -> bool:
    return _gives_parameters(loop.iter)


def _gives_parameters(node: ast.expr) -> bool:
    if isinstance(node, ast.Call) and last_name(node) == "chain":
        return all(map(_gives_parameters, node.args))
    return last_name(node) in ("parameters", "named_parameters")


def _asks_a_flag_of_its_own(context: FileContext) -> bool:
    """Tell whether modules of the project have a flag of that name: what is set there has an effect."""
    mine = context.module.path
    return any(context.project.mentioning(word, mine, "calls") for word in _FLAGS)


_FLAGS = ("def requires_grad(", "self.requires_grad", '"requires_grad"')


def _makes_parameter(value: ast.expr) -> bool:
    """Tell whether a class is called that is a parameter by its name: torch's, or one derived from it."""
    return isinstance(value, ast.Call) and (last_name(value) or "").endswith("Parameter")


_OF_MODULES = ("eval", "parameters", "named_parameters", "load_state_dict", "children", "modules", "add_module")


def _never_read(scope: FunctionInfo, given: list[tuple[str, ast.Call]]) -> Iterator[tuple[str, ast.Call]]:
    """Yield those of the variables `given`, with their values, that nothing in a function reads."""
    if scope.node is not None and given:  # equivalent: saves the walk
        read = {n.id for n in walk(scope.node) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Store)}
        shared = {n for s in own(scope, ast.Global, ast.Nonlocal) for n in s.names}
        yield from ((name, value) for name, value in given if name not in read | shared)


def _switches(context: FileContext, scope: FunctionInfo, node: ast.expr) -> bool:
    name = context.qualified(scope, node)
    fact = context.knowledge.contexts.get(name) if name else None
    return fact is not None and fact.effect.grad != "same" and not fact.immediate
