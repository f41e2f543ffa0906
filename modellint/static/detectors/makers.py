"""Which expressions make a torch module that has weights or depends on the mode?"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import TypeVar

from modellint.static.context import FileContext
from modellint.static.dependence import YES
from modellint.static.flow.vocabulary import OTHER_FRAMEWORKS
from modellint.static.guards import own, values_of, walk_own
from modellint.static.naming import MOVES, PREPARES_DATA
from modellint.static.narrowing import MODULE, attribute_of, bound_to
from modellint.static.project import ClassInfo, FunctionInfo
from modellint.static.project.facts import arguments_given, parameters
from modellint.static.project.names import is_named, last_name
from modellint.static.project.trees import walk

T = TypeVar("T")

_COPIES = frozenset({"copy.copy", "copy.deepcopy"})
_HAND_BACK = MOVES | {"train", "apply"}

_LAYERS = (
    "block layer conv conv1d conv2d conv3d head encoder decoder stage backbone mlp expert branch attention attn ffn "
    "linear unet resnet resblock bottleneck cell"
).split()
_CLASS = re.compile(rf"({'|'.join(word.capitalize() for word in _LAYERS)}|MLP|FFN|Net|Conv[123]d)s?$")
_FACTORY = re.compile(rf"^_?(make|build|create|get|new)_(\w+_)?({'|'.join(_LAYERS)}|net)$")
"""Names of classes and factories out of sight that make layers."""
_MODELS = re.compile(
    r"(^|_)(models|modules|networks|nets|encoders|decoders|generators|discriminators|experts|backbones)$"
)
"""Names of arguments that hold several models."""
_ROWS = re.compile(rf"{_MODELS.pattern}|(^|_)branches$")
"""Names of arguments that take any number of networks: `*branches`. Functions may be `*layers`, too."""
_MAKER = re.compile(rf"(^|_)({'|'.join(_LAYERS)}|classifier|discriminator|generator)(_cls|_class|_type|_fn)?$")
"""Names of arguments that make layers."""
_NO_MAKER = re.compile(r"loss|criteri|metric|transforms?(_|$)|(^|_)act(ivation)?s?(_|$)")
"""Names of arguments that make what has no weights, although it may be a module: losses, metrics, activations."""
_LISTS = frozenset({"List", "list", "Tuple", "tuple", "Sequence", "Iterable", "Collection"})
_LIST_OF_MODULES = re.compile(r"\b([Ll]ist|[Tt]uple|Sequence|Iterable|Collection)\[(torch\.)?(nn\.)?Module\b")
_NO_LAYERS = OTHER_FRAMEWORKS | {"torch", "numpy", "typing", "collections", "copy"}


class Makers:
    """Answers for the methods of one class."""

    def __init__(self, context: FileContext, cls: ClassInfo) -> None:
        self.context = context
        self.cls = cls
        self.proven: set[int] = set()
        """The identities of the names that are known to be modules where they stand."""
        self._asked: list[FunctionInfo] = []

    def is_module(self, method: FunctionInfo, node: ast.expr, named: set[str]) -> bool:
        """Tell whether `node` makes a module that has weights or depends on the mode, or is a variable of `named`."""
        if isinstance(node, ast.Name) or id(node) in self.proven:
            return id(node) in self.proven or node.id in named  # type: ignore[attr-defined]
        if isinstance(node, ast.Starred):
            node = node.value
        if isinstance(node, (ast.Tuple, ast.IfExp)):
            items = node.elts if isinstance(node, ast.Tuple) else (node.body, node.orelse)
            return any(self.is_module(method, item, named) for item in items)
        if not isinstance(node, ast.Call):
            return False
        if isinstance(node.func, ast.Attribute) and node.func.attr in _HAND_BACK:
            return self.is_module(method, node.func.value, named)
        symbol = self.context.project.resolve_in(method, node.func)
        if symbol is None:
            made = method.cls if method.is_classmethod and is_named(node.func, method.self_name) else None
            if made is not None:
                return self.context.classes.is_module(made) and self._matters(made)
        elif isinstance(symbol.target, ClassInfo):
            return self.context.classes.is_module(symbol.target) and self._matters(symbol.target)
        elif symbol.dotted in _COPIES:
            return any(self.is_module(method, given, named) or self._is_child(method, given) for given in node.args[:1])
        maker = self.maker(method, node)
        if symbol is None or maker is not None:
            return maker is not None and self.asked(maker, partial(self._makes_module, maker), False)
        name = symbol.dotted.rsplit(".", 1)[-1]
        if not symbol.dotted.startswith("torch.nn."):
            return self._is_model(symbol.dotted)
        if symbol.dotted.count(".") != 2 or name.startswith("Parameter"):
            return False
        if name == "Sequential":
            return any(self.is_module(method, a, named) for a in node.args) or any(
                isinstance(a, ast.Starred) for a in node.args
            )
        return has_weights(name)

    def builds(self, method: FunctionInfo, maker: ast.expr, named: set[str]) -> bool:
        """Tell whether a call of `maker`, a function or a class, makes such a module."""
        if isinstance(maker, ast.Lambda):
            return self.is_module(method, maker.body, named)
        call = ast.copy_location(ast.Call(maker, [], []), maker)
        return isinstance(maker, (ast.Name, ast.Attribute)) and self.is_module(method, call, named)

    def mapped(self, method: FunctionInfo, node: ast.expr, named: set[str]) -> bool:
        """Tell whether `node` is `map(maker, ...)` over what makes such modules."""
        is_map = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "map"
        return is_map and any(self.builds(method, maker, named) for maker in node.args[:1])  # type: ignore[attr-defined]

    def is_from_library(self, method: FunctionInfo, node: ast.expr) -> bool:
        """Tell whether a library's function or class makes the model that `node` is."""
        symbol = self.context.project.resolve_in(method, node.func) if isinstance(node, ast.Call) else None
        return symbol is not None and symbol.target is None and self._is_model(symbol.dotted)

    def guessed(self, method: FunctionInfo, value: ast.expr) -> str:
        """Return what container `value` is where it may hold layers, as far as names, annotations and copies tell."""
        if isinstance(value, ast.IfExp):  # `metrics if metrics is not None else []`
            return self.guessed(method, value.body) or self.guessed(method, value.orelse)
        if isinstance(value, ast.BoolOp):
            return next(filter(None, (self.guessed(method, choice) for choice in value.values)), "")
        by_name = self.layers_by_name(method, value) or self.models_given(method, value)
        return by_name or ("a list" if self._copies_given(method, value) else "")

    def _copies_given(self, method: FunctionInfo, value: ast.expr) -> bool:
        """Tell whether `value` is a list of copies of an argument: `[copy.deepcopy(layer) for _ in range(depth)]`."""
        call = value.elt if isinstance(value, ast.ListComp) else None
        if not isinstance(call, ast.Call) or self.context.qualified(method, call.func) not in _COPIES:
            return False
        return any(is_named(item, argument.arg) for item in call.args for argument, _ in parameters(method))

    def layers_by_name(self, method: FunctionInfo, value: ast.expr) -> str:
        """Return what container `value` is where something out of sight, named for layers, makes all its elements."""
        repeated = isinstance(value, ast.BinOp)
        if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult):  # `[Block(n)] * depth`
            value = value.left if isinstance(value.left, (ast.List, ast.Tuple)) else value.right
        if isinstance(value, ast.ListComp):
            items, what = [value.elt], "a list"
        elif isinstance(value, ast.DictComp):
            items, what = [value.value], "a dict"
        elif isinstance(value, (ast.List, ast.Tuple)) and len(value.elts) > (0 if repeated else 1):
            items, what = value.elts, "a tuple" if isinstance(value, ast.Tuple) else "a list"
        else:
            return ""
        return what if all(self.is_layer_by_name(method, item) for item in items) else ""

    def models_given(self, method: FunctionInfo, value: ast.expr) -> str:
        """Return what container `value` is where it holds the models that an argument named or annotated for them has.

        Whoever writes `list(models)` gets a plain list even of a ModuleList; an argument kept as it is may be one,
        unless its annotation says that it is a list, or it takes all that are left: `*branches` is a tuple.
        """
        what, source, kept = "", value, False
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in ("list", "tuple"):
            what, source = f"a {value.func.id}", value.args[0] if len(value.args) == 1 else value
        elif isinstance(value, ast.ListComp):
            loop = value.generators[0]
            what, source = "a list", loop.iter if ast.unparse(value.elt) == ast.unparse(loop.target) else value
        else:
            what, kept = "a list", True
        for argument, _ in parameters(method) if isinstance(source, ast.Name) else ():
            if is_named(source, argument.arg) and id(source) not in self.proven:
                told = (
                    argument.annotation is not None
                    and self._lists_modules(method, argument.arg, argument.annotation)
                    # `Union[list[nn.Module], nn.ModuleList]`: which of the two it is has been asked
                    and not (kept and "ModuleList" in ast.unparse(argument.annotation))
                )
                if method.node is not None and argument is method.node.args.vararg:
                    what = "a tuple" if kept else what
                    return what if argument.annotation is None and _ROWS.search(argument.arg) is not None else ""
                named = argument.annotation is None and _MODELS.search(argument.arg) is not None
                return what if told or (not kept and named) else ""
        return ""

    def _lists_modules(self, method: FunctionInfo, name: str, annotation: ast.expr) -> bool:
        """Tell whether an annotation says that an argument is a list of modules: of torch, a library or the project.

        Modules of any kind that are called transforms may be transforms of data, which have no weights.
        """
        if _LIST_OF_MODULES.search(ast.unparse(annotation)):
            return PREPARES_DATA.search(name) is None
        if not isinstance(annotation, ast.Subscript) or last_name(annotation.value) not in _LISTS:
            return False
        symbol = self.context.project.resolve_in(method, annotation.slice)
        if symbol is None:
            return False
        if symbol.target is None:  # `list[BartModel]`, of a library where `BartModel.from_pretrained` makes a model
            return self.context.knowledge.loaders.get(f"{symbol.dotted}.from_pretrained") is not None
        cls = symbol.target
        return isinstance(cls, ClassInfo) and self.context.classes.is_module(cls) and self._matters(cls)

    def moves(self, value: ast.expr) -> bool:
        """Tell whether `value` is a list of what somebody gave, each moved to a device: tensors or modules."""
        elt = value.elt if isinstance(value, ast.ListComp) else None
        if not isinstance(elt, ast.Call) or not isinstance(elt.func, ast.Attribute):
            return False
        return elt.func.attr in ("to", "cuda") and isinstance(elt.func.value, ast.Name)

    def is_layer_by_name(self, method: FunctionInfo, node: ast.expr) -> bool:
        """Tell whether what is named for layers makes `node`: a class out of sight, a factory, which may ask one, or an
        argument, which may be one of torch's by default; or whether it is a variable for such a layer, or one whose
        parameters the method asks for: `Adam(member.parameters())`.

        Whatever its name, an argument makes one where that is moved at once: a tensor is moved as well, and a function
        called; only a module is both.
        """
        if isinstance(node, ast.Name):
            asked = (call.func for call in method.calls_of("parameters", "named_parameters"))
            if any(isinstance(func, ast.Attribute) and is_named(func.value, node.id) for func in asked):
                return True
            made = values_of(method, node.id)
            return len(made) == 1 and isinstance(made[0], ast.Call) and self._calls_argument(method, made[0])
        if not isinstance(node, ast.Call):
            return False
        if isinstance(node.func, ast.Attribute) and node.func.attr in _HAND_BACK:
            if node.func.attr in MOVES and _is_made_by_argument(method, node.func.value):
                return True
            return self.is_layer_by_name(method, node.func.value)
        if self._calls_argument(method, node):
            return True
        symbol = self.context.project.resolve_in(method, node.func)
        if symbol is None or isinstance(symbol.target, ClassInfo) or symbol.dotted.split(".", 1)[0] in _NO_LAYERS:
            return False
        name = symbol.dotted.rsplit(".", 1)[-1]
        return (_CLASS if name[:1].isupper() else _FACTORY).search(name) is not None

    def _calls_argument(self, method: FunctionInfo, call: ast.Call) -> bool:
        """Tell whether a call makes a layer by an argument: `rnn_type(size)`, which is `nn.GRU` by default."""
        for argument, default in parameters(method):
            if is_named(call.func, argument.arg) and (call.args or call.keywords):
                if default is not None and self.builds(method, default, set()):
                    return True
                layers = _MAKER.search(argument.arg) is not None and _NO_MAKER.search(argument.arg) is None
                return argument.annotation is None and default is None and layers
        return False

    def _matters(self, cls: ClassInfo) -> bool:
        """Tell whether a module of the project has a mode, weights or buffers, as far as that is in sight."""
        depends = self.context.classes.dependence(cls)
        if depends.answer == YES or depends.hangs_on:
            return True
        made = self.context.weights.of(cls)
        mine, outside = self.context.project.ancestry(cls)
        layers = [base.rsplit(".", 1)[-1] for base in outside if base.startswith("torch.nn.")]
        return (
            made.learns
            or made.may_load
            or any(name != "Module" and has_weights(name) for name in layers)
            or any("register_buffer" in method.callees for owner in mine for method in owner.methods.values())
        )

    def _own(self, method: FunctionInfo, func: ast.expr) -> FunctionInfo | None:
        mine = attribute_of(func, method.self_name or "")
        return self.context.project.method(self.cls, mine) if mine is not None else None

    def _of_class(self, method: FunctionInfo, func: ast.expr) -> FunctionInfo | None:
        """Return the method that `Class.make` is."""
        symbol = self.context.project.resolve_in(method, func.value) if isinstance(func, ast.Attribute) else None
        if symbol is None or not isinstance(symbol.target, ClassInfo):
            return None
        return self.context.project.method(symbol.target, func.attr)  # type: ignore[attr-defined]

    def _is_model(self, dotted: str) -> bool:
        """Tell whether a library's function or class returns a model alone."""
        loader = self.context.knowledge.loaders.get(dotted)
        return loader is not None and dotted != "torch.load" and loader.effect.returns == ("model",)

    def maker(self, method: FunctionInfo, call: ast.Call) -> FunctionInfo | None:
        """Return the function or method of the project that a call runs."""
        symbol = self.context.project.resolve_in(method, call.func)
        if symbol is None:
            return self._own(method, call.func) or self._of_class(method, call.func)
        return symbol.target if isinstance(symbol.target, FunctionInfo) else None

    def asked(self, maker: FunctionInfo, answer: Callable[[], T], otherwise: T) -> T:
        """Return what `answer` says of a maker, `otherwise` where that is being asked already: it calls itself."""
        if maker in self._asked:
            return otherwise
        self._asked.append(maker)
        try:
            return answer()
        finally:
            self._asked.remove(maker)

    def parts(self, method: FunctionInfo, value: ast.expr) -> list[bool]:
        """Tell for each element of the tuple that a call of the project's returns whether it is such a module."""
        maker = self.maker(method, value) if isinstance(value, ast.Call) else None
        return self.asked(maker, partial(self._parts, maker), []) if maker is not None else []

    def _parts(self, maker: FunctionInfo) -> list[bool]:
        returned = [value.elts if isinstance(value, ast.Tuple) else [] for value in returned_by(maker)]
        return [all(self._is_made(maker, item) for item in items) for items in zip(*returned, strict=False)]

    def _makes_module(self, maker: FunctionInfo) -> bool:
        """Tell whether a function or method of the project returns, each time, a module that it constructs."""
        returned = returned_by(maker)
        return bool(returned) and all(value is not None and self._is_made(maker, value) for value in returned)

    def _is_made(self, maker: FunctionInfo, value: ast.expr) -> bool:
        values = values_of(maker, value.id) if isinstance(value, ast.Name) else [value]
        lists = [made for made in values if isinstance(made, ast.List)]
        if lists:  # `if return_list: return layers`: kept in a list, it is none the better for it
            return any(self.is_module(maker, item, set()) for made in lists for item in made.elts)
        return self.is_module(maker, values[-1] if values else value, set())

    def _is_child(self, method: FunctionInfo, node: ast.expr) -> bool:
        """Tell whether `node` is an attribute of self in which the class keeps a module that it builds."""
        attribute = attribute_of(node, method.self_name or "")
        return attribute is not None and self.context.classes.builds_child(self.cls, attribute)


def returned_by(maker: FunctionInfo) -> list[ast.expr | None]:
    """Return what each `return` of a function gives."""
    return [node.value for node in own(maker, ast.Return)]


def _is_made_by_argument(method: FunctionInfo, node: ast.expr) -> bool:
    """Tell whether an argument without a default makes `node`, by its name no loss or function: `model(size)`."""
    return isinstance(node, ast.Call) and any(
        is_named(node.func, argument.arg) and default is None and _NO_MAKER.search(argument.arg) is None
        for argument, default in parameters(method)
    )


def calls_elements(cls: ClassInfo, attribute: str) -> bool:
    """Tell whether a method of `cls` calls what it finds in `self.attribute`, or hands it to another that does."""
    for method in cls.methods.values():
        me = method.self_name or ""
        for node in walk_own(method):
            if isinstance(node, ast.Call) and _calls_what_it_is_given(cls, method, node, attribute):
                return True
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Subscript):
                if attribute_of(node.func.value, me) == attribute and node.args:
                    return True
            elif isinstance(node, (ast.For, ast.comprehension)):
                turns = bound_to(attribute, me, node.iter, node.target)
                if any(c.args and _called(c.func) in turns for c in method.calls):
                    return True
    return False


def _calls_what_it_is_given(cls: ClassInfo, method: FunctionInfo, call: ast.Call, attribute: str) -> bool:
    """Tell whether a call hands an element of `self.attribute` to a method that runs it: `self._run(self.nets[0])`."""
    me = method.self_name or ""
    callee = cls.methods.get(attribute_of(call.func, me) or "")
    if callee is None:
        return False
    run = {_called(inner.func) for inner in callee.calls if inner.args}
    return any(
        name in run and isinstance(given, ast.Subscript) and attribute_of(given.value, me) == attribute
        for name, given in arguments_given(callee, call).items()
    )


def _called(func: ast.expr) -> str | None:
    """Return the variable whose forward a call runs: `layer` of `layer(x)` and of `layer.forward(x)`."""
    if isinstance(func, ast.Attribute) and func.attr == "forward":
        func = func.value
    return func.id if isinstance(func, ast.Name) else None


def annotated_modules(method: FunctionInfo) -> set[str]:
    """Return the parameters annotated as modules, and the loop variables over parameters annotated as lists of them."""
    found = set()
    lists = set()
    for argument, _ in parameters(method):
        text = ast.unparse(argument.annotation).strip("'\"") if argument.annotation is not None else ""
        if text in MODULE:
            found.add(argument.arg)
        elif _LIST_OF_MODULES.search(text):
            lists.add(argument.arg)
    for node in walk_own(method):
        if isinstance(node, (ast.For, ast.comprehension)) and isinstance(node.iter, ast.Name) and node.iter.id in lists:
            if isinstance(node.target, ast.Name):
                found.add(node.target.id)
    return found


def has_weights(name: str) -> bool:
    """Tell whether the layer of torch of that name has weights or running statistics."""
    stateless = ("Pool", "Pad", "Loss", "Softmax", "Shuffle", "Unshuffle", "Upsampl", "Distance", "Similarity")
    if any(part in name for part in stateless) or name in _ACTIVATIONS:
        return False
    return name not in ("Identity", "Flatten", "Unflatten", "Fold", "Unfold", "LocalResponseNorm")


_ACTIVATIONS = frozenset(
    "ReLU ReLU6 ELU SELU CELU GELU GLU SiLU Mish Tanh Tanhshrink Sigmoid LogSigmoid Softmin Softplus Softshrink "
    "Softsign Hardshrink Hardsigmoid Hardswish Hardtanh LeakyReLU Threshold".split()
)


def class_body(cls: ClassInfo) -> Iterator[ast.Assign]:
    """Yield the assignments in the body of a class."""
    for top in cls.scope.body:
        if top.lineno <= cls.row <= (top.end_lineno or 0):  # equivalent: only saves the look
            for node in walk(top):
                if isinstance(node, ast.ClassDef) and node.lineno == cls.row:
                    yield from (statement for statement in node.body if isinstance(statement, ast.Assign))
