"""`train` of a torch module is overridden in a way that breaks eval()."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from modellint.catalog import ActiveRule
from modellint.diagnostic import Confidence
from modellint.static.attributes import readied_attributes, stored
from modellint.static.context import FileContext, Finding
from modellint.static.dependence import NO
from modellint.static.flow.values import Site
from modellint.static.guards import conditions, own, walk_own
from modellint.static.narrowing import attribute_of
from modellint.static.project import ClassInfo, FunctionInfo
from modellint.static.project.facts import does_nothing, parameters
from modellint.static.project.names import arguments_of, is_named, last_name
from modellint.static.project.trees import walk


def detect(context: FileContext, rule: ActiveRule) -> Iterator[Finding]:
    """Report the `def` of overrides without `mode`, that do not pass it on, or that do not return self.

    A flag kept as `self.train` takes the method's place as well, and is no function that eval() could call.
    """
    for cls in _parts_of_modules(context):
        method = cls.methods.get("train")
        yield from _flag_in_its_place(context, cls)
        yield from _unheard_eval(context, cls)
        yield from _unreturned_eval(context, cls)
        if method is None or method.node is None or method.is_static or method.is_property:
            continue
        if not _needs_more(method) and all(isinstance(s, ast.Raise) or _is_docstring(s) for s in method.body):
            continue  # who inherits may give it a `mode`
        if _is_of_a_trainer(context, cls, method):
            continue
        problem, confidence = _refuses(method), Confidence.CERTAIN
        if "eval" not in cls.methods:
            problem = problem or _problem(method) or _forgets_parts(context, cls, method)
        elif problem and not _is_torchs_in_the_end(context, cls):
            # both are its own: what they do to each other is its own business, but not what a whole does to its parts
            problem = _AS_A_PART if problem != _UNCALLED and _switches(method) else ""
            confidence = Confidence.LIKELY
        elif _hands_it_on_alone(method, cls.methods["eval"]):
            problem, confidence = _HANDED_ON, Confidence.LIKELY
        if not problem:  # equivalent: else the first thing that is wrong is told of
            problem, confidence = _wakes_a_part(context, cls, method), Confidence.LIKELY
        if problem:
            site = _name_of(context, method)
            again = _with_itself_again(method)
            related = ((context.site(again), "the call"),) if again is not None else ()
            yield Finding(site, {"class": cls.name, "problem": problem}, confidence, related=related)


_AS_A_PART = "cannot be given a `mode`, so that train(False), and the eval() of a whole that it is a part of, fail"


def _switches(method: FunctionInfo) -> bool:
    """Tell whether a `train` switches parts or its own flag, and so is no loop that trains."""
    methods = (call for call in method.calls if isinstance(call.func, ast.Attribute))
    return "training" in method.words or any(_SWITCH.search(last_name(call) or "") for call in methods)


_SWITCH = re.compile(r"^((set|switch|go|put|turn|change|move)_(to_|into_|in_)?)?(train|eval)(ing)?(_mode)?$")

_HANDED_ON = "leaves the module itself as it is and does not return self: it does not call super().train(mode)"


def _hands_it_on_alone(train: FunctionInfo, evaluate: FunctionInfo) -> bool:
    """Tell whether a wrapper hands its mode on to what it wraps, by both methods, and neither sets it or returns."""
    mode = next((argument.arg for argument, _ in [*parameters(train)][1:]), "")
    if not any(is_named(given, mode) for call in train.calls_of("train") for given in call.args):
        return False
    return not any(_returns_something(method) or _is_heard_by_torch(method) for method in (train, evaluate))


def _is_heard_by_torch(method: FunctionInfo) -> bool:
    """Tell whether a method sets the flag of its module, or calls what torch has of its name."""
    return "training" in method.words or any(_is_super(call, method) for call in method.calls)


def _is_of_a_trainer(context: FileContext, cls: ClassInfo, method: FunctionInfo) -> bool:
    """Tell whether a `train` runs the training, of a trainer by its name that has no forward: nobody switches it."""
    if not _TRAINER.search(cls.name) or any("forward" in base.methods for base in context.project.ancestry(cls)[0]):
        return False
    inside = (node for loop in own(method, ast.While, ast.For) for node in walk(loop))
    return any(_TRAINS.search(last_name(node) or "") for node in inside if isinstance(node, ast.Call))


_TRAINER = re.compile(r"[Tt]rain(er|ing)|(Learner|Runner|Solver)$")
_TRAINS = re.compile(r"^(train|fit)_\w|step$|backward|epoch")


def _parts_of_modules(context: FileContext) -> list[ClassInfo]:
    """Return the torch modules of the file, and what they inherit beside one: `class Layer(Quantized, nn.Linear)`."""
    parts = {part for cls in context.module_classes() for part in context.project.ancestry(cls)[0]}
    return [cls for cls in context.module.classes if cls in parts]


def _flag_in_its_place(context: FileContext, cls: ClassInfo) -> Iterator[Finding]:
    """Yield the places where a method stores a constant, or an argument that is one by default, as `self.train`."""
    for method in cls.methods.values():
        flags = {argument.arg for argument, default in parameters(method) if _is_value(default)}
        for node in own(method, ast.Assign):
            value = node.value
            if _is_value(value) or (isinstance(value, ast.Name) and value.id in flags):
                if any(attribute_of(target, method.self_name or "") == "train" for target in node.targets):
                    problem = "is a value here, which eval(), that calls train(False), cannot call"
                    yield Finding(context.site(node), {"class": cls.name, "problem": problem})


def _is_value(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is not None


def _unheard_eval(context: FileContext, cls: ClassInfo) -> Iterator[Finding]:
    """Yield the `eval` of a layer that changes the layer: the eval() of a whole calls `train(False)` of its parts."""
    method, train = cls.methods.get("eval"), cls.methods.get("train")
    outside = context.project.ancestry(cls)[1]
    if method is None or method.node is None or not any(_LAYER.match(base) for base in outside):
        return
    given = [argument.arg for argument, _ in parameters(train)][1:] if train is not None else []
    if train is not None and given and _asks(train, given[0]):
        return  # which does what there is to do
    me = method.self_name or ""
    stored = [node for node in own(method, ast.Attribute) if isinstance(node.ctx, ast.Store)]
    if any(attribute_of(node, me) not in (None, "training") for node in stored):
        site = _name_of(context, method)
        message = f"`{cls.name}.eval` is not called by the eval() of a model with this layer: that calls train(False)"
        yield Finding(site, {"class": cls.name, "problem": ""}, Confidence.LIKELY, message=message)


def _unreturned_eval(context: FileContext, cls: ClassInfo) -> Iterator[Finding]:
    """Yield the `eval` of a class that does nothing, cannot call torch's, or returns nothing of what it calls."""
    method, train = cls.methods.get("eval"), cls.methods.get("train")
    if method is None or method.node is None:
        return
    if any(_is_of_super_itself(inner) for inner in walk_own(method)):
        message = f"`{cls.name}.eval` {_UNCALLED}"
        yield Finding(_name_of(context, method), {"class": cls.name, "problem": ""}, message=message)
        return
    if _is_without_effect(method) and context.classes.dependence(cls).answer != NO and not _has_no_body(train):
        message = f"`{cls.name}.eval` does nothing: the module and its parts stay in training mode"
        yield Finding(_name_of(context, method), {"class": cls.name, "problem": ""}, Confidence.LIKELY, message=message)
        return
    if _returns_something(method):
        return
    if _is_torchs_in_the_end(context, cls):
        message = f"`{cls.name}.eval` does not return self, so that `model = model.eval()` gives None"
        yield Finding(_name_of(context, method), {"class": cls.name, "problem": ""}, message=message)
    elif _switches_parts_alone(context, cls):
        message = (
            f"`{cls.name}.eval` leaves the module itself as it is and does not return self: it does not call "
            "super().eval()"
        )
        yield Finding(_name_of(context, method), {"class": cls.name, "problem": ""}, Confidence.LIKELY, message=message)


def _is_without_effect(method: FunctionInfo) -> bool:
    """Tell whether an `eval` does nothing, and is neither abstract nor given what it is to evaluate."""
    assert method.node is not None
    return _has_no_body(method) and not method.node.decorator_list and len(list(parameters(method))) == 1


def _has_no_body(method: FunctionInfo | None) -> bool:
    """Tell whether a method does nothing, or only gives back its object."""
    if method is None:
        return False
    return all(
        does_nothing(statement)
        or (isinstance(statement, ast.Return) and isinstance(statement.value, (ast.Name, type(None))))
        for statement in method.body
    )


def _switches_parts_alone(context: FileContext, cls: ClassInfo) -> bool:
    """Tell whether the `eval` of a module with a forward calls that of its parts, and torch's `train` is as it was."""
    family, outside = context.project.ancestry(cls)
    methods = {name for base in family for name in base.methods}
    if set(outside) != {"torch.nn.Module"} or "train" in methods or "forward" not in methods:
        return False
    method = cls.methods["eval"]
    if (
        any(_is_super(call, method) for call in method.calls)
        or "training" in method.words
        or len(list(parameters(method))) > 1
    ):
        return False
    return bool(readied_attributes(method))


def _name_of(context: FileContext, method: FunctionInfo) -> Site:
    """Return where the `def` of a method gives its name."""
    node = method.node
    assert node is not None
    end = node.col_offset + len(f"def {method.name}")
    return context.site(node)._replace(end_row=node.lineno, end_column=end)


_LAYER = re.compile(r"torch\.nn\.(modules\.\w+\.)?(?!Module|Sequential|DataParallel)[A-Z]")


def _is_torchs_in_the_end(context: FileContext, cls: ClassInfo) -> bool:
    """Tell whether the `eval` of a class calls torch's, which calls `self.train(False)`, or that itself."""
    if any("eval" in base.methods for base in context.project.ancestry(cls)[0][1:]):
        return False
    for call in cls.methods["eval"].calls:
        name = last_name(call)
        if name == "eval" and _is_super(call, cls.methods["eval"]):
            return True
        if name == "train" and attribute_of(call.func, cls.methods["eval"].self_name or "") and _gives(call):
            return True
    return False


def _refuses(method: FunctionInfo) -> str:
    """Return why an override cannot be called with the `mode` that eval() gives, or an empty text."""
    node = method.node
    assert node is not None
    if any(_is_of_super_itself(inner) for inner in walk_own(method)):
        return _UNCALLED
    if len(node.args.posonlyargs) + len(node.args.args) == 1 and node.args.vararg is None:
        return "takes no `mode`, so that eval(), which calls train(False), raises a TypeError"
    if _needs_more(method):
        return "needs more arguments than the `mode` that eval() gives it"
    return ""


def _needs_more(method: FunctionInfo) -> bool:
    """Tell whether a `train` has to be given more than a mode."""
    assert method.node is not None
    arguments = method.node.args
    return len(arguments.posonlyargs) + len(arguments.args) - len(arguments.defaults) > 2


_UNCALLED = "uses `super` without calling it, so that eval() raises an AttributeError"


def _is_of_super_itself(node: ast.AST) -> bool:
    """Tell whether this is `super.train`, an attribute of the builtin class, which has none of that name."""
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "super"


def _problem(method: FunctionInfo) -> str:
    node = method.node
    assert node is not None
    arguments = [*node.args.posonlyargs, *node.args.args][1:]
    mode = arguments[0].arg if arguments else None
    if _with_itself_again(method) is not None:
        return "gives super().train() `self` once more, so that eval() raises a TypeError"
    passed_on = stored = False
    for inner in walk_own(method):
        if isinstance(inner, ast.Call) and last_name(inner) == "train":
            if _is_super(inner, method):
                passed_on = True
                if mode and any(isinstance(a, ast.Constant) and a.value is True for a in inner.args):
                    return "switches training mode on whatever it is given, so that eval() has no effect"
                if any(_is_opposite(a, mode) for a in arguments_of(inner)):
                    return f"passes the opposite of `{mode}` on, so that eval() switches training mode on"
                if mode and not _gives(inner) and not _asks(method, mode):
                    return f"does not pass `{mode}` on to super().train(), so that eval() leaves it in training mode"
            elif _gives(inner):
                stored = True
        if isinstance(inner, ast.Attribute) and inner.attr == "training" and isinstance(inner.ctx, ast.Store):
            stored = True
    if not passed_on and not stored:
        return "does not call super().train(mode), so that no submodule ever changes its mode"
    if not _returns_something(method):
        return "does not return self, so that `model = model.eval()` gives None"
    given_back = _part_given_back(method)
    if given_back:
        return f"returns `{given_back}` instead of self, so that `model = model.eval()` gives only that part"
    if _falls_through(node.body) or any(inner.value is None for inner in own(method, ast.Return)):
        return "does not return self in every case, so that `model = model.eval()` may give None"
    return ""


def _wakes_a_part(context: FileContext, cls: ClassInfo, method: FunctionInfo) -> str:
    """Return what is wrong with an override that calls train() of a part last, and looks at no mode for that.

    Not where something else may settle the mode of the part, or where it has none; noise and dropout may be meant.
    """
    assert method.node is not None
    arguments = [*method.node.args.posonlyargs, *method.node.args.args][1:]
    mode = arguments[0].arg if arguments else ""
    calls = method.calls_of("train")
    handed_on = any(is_named(given, mode) for call in calls for given in call.args)
    if not handed_on or _asks(method, mode) or "training" in method.words or _MEANT.search(cls.name):
        return ""
    for call in calls:
        part = call.func.value if isinstance(call.func, ast.Attribute) else None
        told = arguments_of(call)
        always = all(isinstance(value, ast.Constant) and value.value is True for value in told)
        if not isinstance(part, ast.Attribute) or not always:
            continue
        if _MEANT.search(part.attr) or any(conditions(method, call)) or _is_settled_later(method, call):
            continue
        is_part = context.classes.builds_child(cls, part.attr) or _PART.search(part.attr) is not None
        if is_part and not context.classes.has_no_mode(cls, part.attr):
            return f"puts `{ast.unparse(part)}` into training mode whatever `{mode}` is, so after a whole's eval(), too"
    return ""


_MEANT = re.compile(r"drop|noise|bayes|monte|mc_|MC[A-Z]|stochast|uncertain", re.I)


def _is_settled_later(method: FunctionInfo, call: ast.Call) -> bool:
    """Tell whether methods are called after `call`, of the object or of a part: they may set modes."""
    return any(isinstance(other.func, ast.Attribute) and other.lineno > call.lineno for other in method.calls)


def _forgets_parts(context: FileContext, cls: ClassInfo, method: FunctionInfo) -> str:
    """Return what is wrong with an override that sets the flag of the module and calls nothing, if that has parts."""
    init = context.project.method(cls, "__init__")
    if method.calls or init is None or not _READIES.isdisjoint(init.callees):
        return ""  # what the constructor has put into evaluation mode is meant to stay there
    forward = context.project.method(cls, "forward")
    handed = {name for name, value in stored(init) if isinstance(value, ast.Name)}
    parts = handed if forward is None else context.classes.parts_run(forward)  # without one others run what is kept
    parts = {name for name in parts if name not in handed or _PART.search(name)}
    if all(context.classes.has_no_mode(cls, name) or not context.classes.may_be_part(cls, name) for name in parts):
        return ""
    return "sets the flag of the module alone, so that no submodule ever changes its mode"


_PART = re.compile(r"(^|_)(trunk|stem|body|head|core|inner|base|wrapped|model|net|network|backbone|encoder|decoder)$")
_READIES = frozenset({"eval", "requires_grad_"})


def _returns_something(method: FunctionInfo) -> bool:
    return any(isinstance(inner, ast.Return) and inner.value is not None for inner in walk_own(method))


def _falls_through(body: list[ast.stmt]) -> bool:
    """Tell whether a body may end without a return, as far as its last statement tells."""
    last = body[-1]
    if isinstance(last, ast.If):
        return not last.orelse or _falls_through(last.body) or _falls_through(last.orelse)
    if isinstance(last, (ast.With, ast.Try)):
        return _falls_through(last.body)
    return not isinstance(last, (ast.Return, ast.Raise, ast.While))


def _part_given_back(method: FunctionInfo) -> str:
    """Return the part of which an override returns what `train()` gives: `return self.net.train(mode)`.

    What is given something else besides trains, in steps: `return self.trainer.train(data)`.
    """
    if len(method.given) > 2:
        return ""
    given = (node.value.func for node in own(method, ast.Return) if isinstance(node.value, ast.Call))
    asked = (func.value for func in given if isinstance(func, ast.Attribute) and func.attr == "train")
    return next((ast.unparse(part) for part in asked if attribute_of(part, method.self_name or "")), "")


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _is_super(call: ast.Call, method: FunctionInfo) -> bool:
    """Tell whether this is `super().train(...)` or `Base.train(self, ...)`."""
    func = call.func
    if not isinstance(func, ast.Attribute):
        return False
    if isinstance(func.value, ast.Call):
        return last_name(func.value) == "super"
    first = call.args[0] if call.args else None
    return isinstance(first, ast.Name) and first.id == method.self_name


def _with_itself_again(method: FunctionInfo) -> ast.Call | None:
    """Return `super().train(self, ...)`: what is found by `super()` has got its object already."""
    for call in method.calls_of("train"):
        bound = isinstance(call.func, ast.Attribute) and last_name(call.func.value) == "super"
        if bound and any(isinstance(given, ast.Name) and given.id == method.self_name for given in call.args):
            return call
    return None


def _is_opposite(node: ast.expr, mode: str | None) -> bool:
    return (
        isinstance(node, ast.UnaryOp)
        and isinstance(node.op, ast.Not)
        and isinstance(node.operand, ast.Name)
        and node.operand.id == mode
    )


def _gives(call: ast.Call) -> bool:
    mine = 1 if call.args and isinstance(call.args[0], ast.Name) and call.args[0].id == "self" else 0
    return len(call.args) > mine or bool(call.keywords)


def _asks(method: FunctionInfo, mode: str) -> bool:
    """Tell whether the body looks at `mode` in a condition."""
    return any(
        isinstance(inner, (ast.If, ast.IfExp))
        and any(isinstance(n, ast.Name) and n.id == mode for n in walk(inner.test))
        for inner in walk_own(method)
    )
