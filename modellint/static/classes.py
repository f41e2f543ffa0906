"""What a class of the project is: a torch module or not, and whether its output depends on the mode."""

from __future__ import annotations

import ast
import builtins
import re
import sys
from collections.abc import Iterable, Iterator, Sequence

from modellint.static import given, options, picked
from modellint.static.attributes import (
    asked_for_mode,
    attributes_of,
    called_attributes,
    computes_by_mode,
    is_looked_up,
    kept_arguments,
    may_be_child,
    may_compute_by_mode,
    never_runs,
    owner_of,
    readied_attributes,
    stored,
    taken_of,
)
from modellint.static.dependence import NO, OF_LIBRARY, UNKNOWN, YES, Dependence, is_named_for_an_architecture
from modellint.static.guards import choices, conditions, unmoved, values_of, walk_own
from modellint.static.knowledge import Knowledge
from modellint.static.made_for_itself import stays_in
from modellint.static.naming import PREPARES_DATA
from modellint.static.narrowing import attribute_of
from modellint.static.project import ClassInfo, FunctionInfo, Project
from modellint.static.project.callers import heirs_nearby
from modellint.static.project.facts import argument_given, is_false, is_plain, parameters
from modellint.static.project.names import dotted_name, holder, last_name, names_in

WITHOUT_LAYERS = frozenset({"object", "abc.ABC", "typing.Generic", "typing.Protocol", "typing_extensions.Protocol"})
_OF_PYTHON = frozenset(dir(builtins)) | sys.stdlib_module_names


class Classes:
    """Answers about classes, each worked out once."""

    def __init__(self, project: Project, knowledge: Knowledge) -> None:
        self.project = project
        self.knowledge = knowledge
        self._modules: dict[ClassInfo, bool] = {}
        self._dependence: dict[ClassInfo | FunctionInfo, Dependence] = {}
        self._forwards: dict[FunctionInfo, tuple[frozenset[str], Sequence[FunctionInfo]]] = {}
        self._children: dict[ClassInfo, frozenset[str]] = {}
        self._plain: dict[tuple[ClassInfo, str], bool] = {}
        self._objects: dict[tuple[ClassInfo, str], ClassInfo | None] = {}
        self._assigned: dict[FunctionInfo, frozenset[str]] = {}

    def is_module(self, cls: ClassInfo) -> bool:
        """Tell whether `cls` descends from a torch module, as far as that is in sight."""
        if cls not in self._modules:
            mine, bases = self.project.ancestry(cls)
            self._modules[cls] = False  # for a class that keeps another one of its kind
            self._modules[cls] = any(map(self.is_module_name, bases)) or self._is_built_like_one(mine, bases)
        return self._modules[cls]

    def _is_built_like_one(self, mine: Iterable[ClassInfo], bases: Iterable[str]) -> bool:
        """Tell whether a class with a base out of sight has a forward and keeps layers, as only modules can."""
        if all(base in WITHOUT_LAYERS or self.knowledge.is_library(base) for base in bases):
            return False
        if not any("forward" in owner.methods for owner in mine):
            return False
        constructors = (owner.methods["__init__"] for owner in mine if "__init__" in owner.methods)
        return any(True for constructor in constructors for _ in self._built_in(constructor))

    def may_be_module(self, cls: ClassInfo) -> bool:
        """Tell whether `cls` is a torch module, or has a `forward` and a base out of sight."""
        if self.is_module(cls):
            return True
        outside = self.project.ancestry(cls)[1]
        return self.project.method(cls, "forward") is not None and not WITHOUT_LAYERS.issuperset(outside)

    def is_module_name(self, dotted: str) -> bool:
        """Tell whether the outside class `dotted` is a torch module."""
        return self.knowledge.module_bases.get(dotted) is not None

    def dependence(self, cls: ClassInfo) -> Dependence:
        """Tell whether the output of `cls` depends on the mode, its children included."""
        if cls in self._dependence:
            return self._dependence[cls]
        self._dependence[cls] = Dependence(NO)  # a class that contains itself adds nothing
        answer = self._of_class(cls)
        self._dependence[cls] = answer
        return answer

    def _of_class(self, cls: ClassInfo) -> Dependence:
        mine, outside = self.project.ancestry(cls)
        forward = self.project.method(cls, "forward")
        beside = any(map(self.is_module_name, outside)) and forward is not None and "super" not in forward.callees
        answers = []
        for base in outside:
            if self.knowledge.mode_dependent.get(base):
                return Dependence(YES, base.rsplit(".", 1)[-1])
            if (not self.is_module_name(base) and not _adds_methods(base, beside)) or base in given.CONTAINERS:
                hints = is_named_for_an_architecture(base.rsplit(".", 1)[-1])
                answers.append(Dependence(UNKNOWN, hints=hints))  # what it is filled with is not in the class
        init = self.project.method(cls, "__init__")
        known: set[str] = set()
        called: set[str] = set()
        for owner in mine:
            for method in owner.methods.values():
                if may_compute_by_mode(method):
                    answers.append(Dependence(UNKNOWN))
                built = options.joined([_of_mode_asked(cls, method), self.of_function(method)])
                found = given.by_method(self, mine, method, built)
                its_own = owner.methods.get("__init__", init)
                if its_own is not None and its_own is not init:
                    found = given.of_base(self, found, its_own, init)
                if found.is_certain:
                    return found
                answers.append(found)
                known |= set(owner.methods) | self._attributes(method)
                called |= called_attributes(method)
        if called - known:
            answers.append(Dependence(UNKNOWN))
        return options.joined(answers)

    def stores(self, cls: ClassInfo, attribute: str) -> bool:
        """Tell whether a method of `cls` assigns or registers `attribute`."""
        mine, _ = self.project.ancestry(cls)
        return any(attribute in self._attributes(method) for owner in mine for method in owner.methods.values())

    def _attributes(self, method: FunctionInfo) -> frozenset[str]:
        """Return the attributes of `self` that `method` assigns or registers."""
        if method not in self._assigned:
            self._assigned[method] = frozenset(attributes_of(method))
        return self._assigned[method]

    def builds_child(self, cls: ClassInfo, attribute: str) -> bool:
        """Tell whether `cls` stores a module that it builds itself in `attribute`."""
        if cls not in self._children:
            self._children[cls] = frozenset(self._built_children(cls))
        return attribute in self._children[cls]

    def _built_children(self, cls: ClassInfo) -> Iterator[str]:
        for owner in self.project.ancestry(cls)[0]:
            for method in owner.methods.values():
                yield from self._built_in(method)

    def _built_in(self, method: FunctionInfo) -> Iterator[str]:
        """Yield the attributes in which a method stores modules that it builds."""
        for name, value in stored(method):
            made = unmoved(value)
            if isinstance(made, ast.Call) and self.names_module(method, made.func):
                yield name

    def loads_child(self, cls: ClassInfo, attribute: str) -> bool:
        """Tell whether what `cls` keeps in `attribute` comes from `from_pretrained`, in evaluation mode."""
        kept = self.kept_in(cls, attribute)
        return any(isinstance(value, ast.Call) and last_name(value) == "from_pretrained" for _, value in kept)

    def _keeps_plain(self, cls: ClassInfo, attribute: str) -> bool:
        """Tell whether all that `cls` keeps in `attribute` are numbers and texts, as the annotations of the parameters
        say that they come from, or lists that it makes."""
        if (cls, attribute) not in self._plain:
            kept = self.kept_in(cls, attribute)
            self._plain[cls, attribute] = bool(kept) and all(_is_plain_value(*one) for one in kept)
        return self._plain[cls, attribute]

    def kept_in(self, cls: ClassInfo, attribute: str) -> list[tuple[FunctionInfo, ast.expr]]:
        """Return what the methods of a class and of its bases assign to `self.attribute`, with the method."""
        return [
            (method, value)
            for owner in self.project.ancestry(cls)[0]
            for method in owner.methods.values()
            for name, value in stored(method)
            if name == attribute
        ]

    def object_kept(self, cls: ClassInfo, attribute: str) -> ClassInfo | None:
        """Return the class of the project, no module, of which all is made that `cls` keeps as `attribute`."""
        if (cls, attribute) not in self._objects:
            made: set[ClassInfo | None] = set()
            for method, value in self.kept_in(cls, attribute):
                symbol = self.project.resolve_in(method, value.func) if isinstance(value, ast.Call) else None
                target = symbol.target if symbol is not None else None
                made.add(target if isinstance(target, ClassInfo) and not self.may_be_module(target) else None)
            self._objects[cls, attribute] = made.pop() if len(made) == 1 else None
        return self._objects[cls, attribute]

    def names_module(self, scope: FunctionInfo, node: ast.expr) -> bool:
        """Tell whether an expression names a class that is a torch module."""
        symbol = self.project.resolve_in(scope, node)
        if symbol is None:
            return False
        if isinstance(symbol.target, ClassInfo):
            return self.is_module(symbol.target)
        is_tensor = symbol.dotted.endswith(("Parameter", "Buffer")) or symbol.dotted.startswith(_GIVES_TENSORS)
        return symbol.target is None and self.is_module_name(symbol.dotted) and not is_tensor

    def has_no_mode(self, cls: ClassInfo, attribute: str) -> bool:
        """Tell whether nothing that `cls` builds and keeps in `attribute` depends on the mode."""
        return self.stores(cls, attribute) and self.of_part(cls, attribute).answer == NO

    def of_part(self, cls: ClassInfo, attribute: str) -> Dependence:
        """Tell whether what `cls` keeps in `attribute` depends on the mode."""
        init = self.project.method(cls, "__init__")
        return Dependence(UNKNOWN) if init is None else given.of_attribute(self, attribute, init)

    def runs_forward(self, method: FunctionInfo) -> bool:
        """Tell whether a method of a torch module computes with its submodules, itself or through other methods."""
        return bool(self.parts_run(method))

    def parts_run(self, method: FunctionInfo) -> frozenset[str]:
        """Return the submodules that a method computes with, itself or through others; "" stands for any of them."""
        return self._run_by(method)[0]

    def runs_without_mode(self, cls: ClassInfo, name: str) -> bool:
        """Tell whether nothing that a method of `cls` computes with depends on the mode, whatever `forward` does."""
        method = self.project.method(cls, name)
        if method is None:
            return False
        parts, methods = self._run_by(method)
        if "" in parts or any(computes_by_mode(one) or may_compute_by_mode(one) for one in methods):
            return False
        return bool(parts) and all(self.of_part(cls, part).answer == NO for part in parts)

    def _run_by(self, method: FunctionInfo) -> tuple[frozenset[str], Sequence[FunctionInfo]]:
        """Return the submodules that a method computes with, and the methods of its object that it leads to."""
        if method not in self._forwards:
            methods = [method]
            parts = frozenset(part for one in methods for part in self._computes(one, methods))
            self._forwards[method] = parts, methods
        return self._forwards[method]

    def _computes(self, method: FunctionInfo, methods: list[FunctionInfo]) -> Iterator[str]:
        """Yield the submodules that a method calls itself; `methods` gets the others of its object that it calls."""
        me, cls = method.self_name, method.cls
        if me is None or cls is None:
            return
        members = _members(method, me)
        for call in method.calls:
            func = holder(call.func)  # `self.layers[0](x)`, `self.stacks[0][1](x)`
            if isinstance(func, ast.Name) and (func.id == me or (func.id in members and call.args)):
                yield ""
            if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) and func.value.id == me:
                other = self.project.method(cls, func.attr)
                if func.attr == "forward":
                    yield ""
                elif other is None and call.args and self.may_be_part(cls, func.attr):
                    yield func.attr
                if other is not None and other not in methods:
                    methods.append(other)

    def may_be_part(self, cls: ClassInfo, attribute: str) -> bool:
        """Tell whether an attribute may be a submodule: `self.tokenizer` is none, unless the class builds one."""
        if not may_be_child(attribute) or self._keeps_plain(cls, attribute):
            return False
        return PREPARES_DATA.search(attribute) is None or self.builds_child(cls, attribute)

    def of_function(self, function: FunctionInfo) -> Dependence:
        """Tell whether `function` builds modules that depend on the mode."""
        if function in self._dependence:
            return self._dependence[function]
        self._dependence[function] = Dependence(NO)
        answers = []
        builds = function.name == "__init__" or "nn" in function.words
        arguments = {a.arg for a, default in parameters(function) if not self._is_plain_function(function, default)}
        for call in function.calls:
            found = self.of_call(call, function, arguments if builds else set())
            if found.answer == NO or self._takes_parts_without_mode(function, call):
                continue
            if function.cls is not None and stays_in(function, call):
                continue
            where = owner_of(function, call)
            found = _placed(found, where)
            if (
                where
                and found.answer == YES
                and (where in readied_attributes(function) or self._is_converted(function, where))
            ):
                found = Dependence(UNKNOWN)
            if found.answer == YES:
                if where and never_runs(function, where):
                    continue
                found = options.where_asked_for(found, function, call)
                answers.append(found)
                if found.is_certain:
                    break
            elif _may_build(function) or where:
                if function.cls is None:
                    found = found._replace(hangs_on=options.parameters_of(found.options))
                answers.append(found)
        if function.name == "__init__" and (kept := frozenset(kept_arguments(function, arguments))):
            answers.append(Dependence(UNKNOWN, "", kept))
        if function.cls is None and not answers:
            answers.append(given.of_picker(self, function))
        result = self._dependence[function] = options.joined(answers)
        return result

    def _takes_parts_without_mode(self, function: FunctionInfo, call: ast.Call) -> bool:
        """Tell whether a function takes only those parts of a library's network that have no mode: VGG's features."""
        symbol = self.project.resolve_in(function, call.func)
        if symbol is None or symbol.target is not None:
            return False
        parts = taken_of(function, call)
        return bool(parts) and all(self.knowledge.mode_free.get(f"{symbol.dotted}.{part}") for part in parts)

    def _is_converted(self, function: FunctionInfo, attribute: str) -> bool:
        """Tell whether a part goes through a function that may replace its layers: `self.net = freeze(self.net)`."""
        for name, value in stored(function):
            if name == attribute and isinstance(value, ast.Call):
                given_to = (attribute_of(argument, function.self_name or "") for argument in value.args)
                symbol = self.project.resolve_in(function, value.func)
                converts = symbol is None or isinstance(symbol.target, FunctionInfo)
                if attribute in given_to and converts:
                    return True
        return False

    def _is_plain_function(self, function: FunctionInfo, default: ast.expr | None) -> bool:
        """Tell whether an argument is a function of torch unless the caller gives another: no layer, no factory."""
        text = dotted_name(default) if default is not None else None
        symbol = self.project.resolve_in(function, text) if text else None
        return symbol is not None and symbol.target is None and self._is_lower_in_torch(symbol.dotted)

    @staticmethod
    def _is_lower_in_torch(dotted: str) -> bool:
        return first_part(dotted) == "torch" and dotted.rsplit(".", 1)[-1][:1].islower()

    def of_call(self, call: ast.Call, scope: FunctionInfo, arguments: set[str]) -> Dependence:
        """Tell whether `call` builds something that depends on the mode."""
        text = dotted_name(call.func)
        if text is None:
            if isinstance(call.func, ast.Subscript):  # `resnets.__dict__[arch]()`, `ENCODERS[args.encoder](args)`
                return picked.of_table(self, call.func.value, call, scope)
            package = call.func.args[0] if isinstance(call.func, ast.Call) and _is_getattr(call.func) else None
            return picked.of_picked(self, package, call, scope) if package is not None else Dependence(NO)
        first = text.split(".")[0]
        if first in ("self", "cls", "super"):
            return self._of_kept_class(text, call, scope)
        symbol = self.project.resolve_in(scope, text)
        if symbol is None:
            tables = [v.value for v in values_of(scope, text) if isinstance(v, ast.Subscript)]
            if tables and all(isinstance(table, ast.Dict) for table in tables):
                # `norm = {"bn": nn.BatchNorm2d, "none": nn.Identity}[norm]`: a norm is there to be used
                return options.joined(
                    picked.of_table(self, table, call, scope)._replace(hints=True) for table in tables
                )
            if first in arguments and "." not in text:
                return Dependence(UNKNOWN, "", frozenset({first}))
            made = values_of(scope, text)
            if len(made) == 1 and isinstance(made[0], ast.Call) and _is_getattr(made[0]):
                return picked.of_picked(self, made[0].args[0], call, scope)  # `build = getattr(models, arch)`
            if any(_evaluates_text(value) for value in made):
                return Dependence(UNKNOWN, hints=self._has_some_with_mode(scope))
            return self._of_any(made or values_of(scope.module.body, text), call, scope, arguments)
        target = symbol.target
        if symbol.dotted in given.CONTAINERS and (filled := given.arguments_in(call, arguments)):
            return Dependence(UNKNOWN, "", filled)
        if isinstance(target, ClassInfo):
            if not self.is_module(target) or self.knowledge.mode_free.get(symbol.dotted):
                return Dependence(NO)
            return Dependence(UNKNOWN) if self._switches_itself(target) else given.of_call(self, target, call, scope)
        if isinstance(target, FunctionInfo):
            return given.as_called(self, self.of_function(target), target, call, scope, 0)
        return self.of_external(symbol.dotted, call, scope)

    def _of_kept_class(self, text: str, call: ast.Call, scope: FunctionInfo) -> Dependence:
        """Tell it of what is built by an attribute that holds a class: `self.norm = nn.BatchNorm1d`, `self.norm(8)`."""
        owner, _, attribute = text.partition(".")
        if owner != scope.self_name or scope.cls is None:
            return Dependence(NO)
        choices_kept = [(method, c) for method, value in self.kept_in(scope.cls, attribute) for c in choices(value)]
        named = [(method, c) for method, c in choices_kept if self._names_outside(method, c)]
        if not named:
            return Dependence(NO)  # a method
        found = [self._of_any([choice], call, method, set()) for method, choice in named]
        set_by_name = any("setattr" in method.callees for method in scope.cls.methods.values())
        sure = len(named) == len(choices_kept) and not set_by_name and not self._is_kept_by_heirs(scope.cls, attribute)
        if sure and len({one.answer for one in found}) == 1:
            return options.joined(found)
        return Dependence(UNKNOWN if any(one.answer != NO for one in found) else NO)  # there may be no such layer

    def _is_kept_by_heirs(self, cls: ClassInfo, attribute: str) -> bool:
        methods = (method for heir in heirs_nearby(self.project, cls) for method in heir.methods.values())
        return any(attribute in self._attributes(method) for method in methods)

    def _names_outside(self, method: FunctionInfo, choice: ast.expr) -> bool:
        """Tell whether an expression names something that is no attribute of the method's own object."""
        name = dotted_name(choice)
        known = self.project.resolve_in(method, name) if name is not None else None
        return known is not None and name is not None and name.split(".")[0] != method.self_name

    def _of_any(
        self, classes: Iterable[ast.expr], call: ast.Call, scope: FunctionInfo, arguments: set[str]
    ) -> Dependence:
        """Tell it of what `call` builds by a variable that holds one of `classes`: `norm = nn.BatchNorm1d`."""
        named = {dotted_name(choice): choice for value in classes for choice in choices(value)}
        found = [
            self.of_call(ast.copy_location(ast.Call(choice, call.args, call.keywords), call), scope, arguments)
            for name, choice in named.items()
            if name is not None and self.project.resolve_in(scope, name) is not None
        ]
        if len({one.answer for one in found}) > 1:
            return Dependence(UNKNOWN, hints=any(one.answer == YES or one.hints for one in found))
        return options.joined(found)

    def _has_some_with_mode(self, scope: FunctionInfo) -> bool:
        """Tell whether a module of the same file depends on the mode: one that `eval("Conv")` may name."""
        return any(self.is_module(cls) and self.dependence(cls).answer == YES for cls in scope.module.classes)

    def _is_named_for_a_free_norm(self, norm: ast.expr) -> bool:
        """Tell whether an expression names a norm of torch or torchvision that is the same in every mode."""
        name = last_name(norm)
        return any(self.knowledge.mode_free.get(f"{package}.{name}") for package in ("torch.nn", "torchvision.ops"))

    def _is_made_beside(self, scope: FunctionInfo, layer: ast.expr | None) -> bool:
        """Tell whether a function itself builds a layer that it gives to something else, in place or beforehand."""
        if isinstance(layer, ast.Name):
            made = values_of(scope, layer.id)
        elif isinstance(layer, ast.Attribute):
            made = [value for name, value in stored(scope) if name == attribute_of(layer, scope.self_name or "")]
        else:
            made = [] if layer is None else [layer]
        symbols = (
            self.project.resolve_in(scope, value.func) if isinstance(value, ast.Call) else None for value in made
        )
        return bool(made) and all(
            symbol is not None and (symbol.target is not None or self.knowledge.mode_dependent.get(symbol.dotted))
            for symbol in symbols
        )

    def _switches_itself(self, cls: ClassInfo) -> bool:
        """Tell whether a new instance of `cls` puts itself into evaluation mode, with weights perhaps that it loads: it
        is so within a new whole."""
        init = self.project.method(cls, "__init__")
        if init is None:
            return False
        return any(ast.unparse(call) == f"{init.self_name}.eval()" for call in init.calls_of("eval"))

    def of_external(self, dotted: str, call: ast.Call | None, scope: FunctionInfo | None = None) -> Dependence:
        """Tell whether the outside class or factory `dotted`, called as in `call` (in `scope`), depends on the mode."""
        name = dotted.rsplit(".", 1)[-1]
        if name == "__init__":
            return Dependence(NO)  # of a base, which is looked at as such
        if name.lstrip("_")[:1].islower() and not self.knowledge.loaders.get(dotted):
            return Dependence(NO)  # a function, no layer
        if self.knowledge.mode_dependent.get(dotted):
            if scope is not None and self._is_made_beside(scope, given.layer_repeated(dotted, call)):
                return Dependence(NO)  # that layer is looked at as such
            norm = argument_given(call, ("norm_layer",), None)
            if norm is not None:  # `resnet50(norm_layer=FrozenBatchNorm2d)`, or what a caller gives
                return Dependence(UNKNOWN, hints=not self._is_named_for_a_free_norm(norm))
            if "BatchNorm" in name and is_false(argument_given(call, ("track_running_stats",), 4)):
                return Dependence(NO)  # it normalises with the batch at hand in every mode
            chance = argument_given(call, ("p", "dropout", "drop_prob"), 0 if "Drop" in name else None)
            if _is_zero(chance):
                return Dependence(NO)
            number = f"(p={chance.value!r})" if isinstance(chance, ast.Constant) else ""
            layer = name + number if name[:1].isupper() else OF_LIBRARY + name
            return (
                Dependence(YES, layer) if chance is None or scope is None else options.of_option(chance, scope, layer)
            )
        switches = self.knowledge.dependent_with.get(dotted)
        if switches is not None:
            layers = argument_given(call, ("num_layers",), 2) if name in _RECURRENT else None
            if name in _RECURRENT and layers is None:
                return Dependence(NO)  # dropout stands between layers
            chances = [argument_given(call, switch.names, switch.position) for switch in switches]
            layer = f"{name} dropout"
            found = options.joined(
                options.of_option(chance, scope, layer) if scope is not None else Dependence(YES, layer)
                for chance in chances
                if chance is not None and not _is_zero(chance)
            )
            if layers is None or scope is None:
                return found
            return options.both(found, options.of_option(layers, scope, layer, options.SEVERAL))
        if self.knowledge.mode_free.get(dotted) or (dotted == _LOAD and scope is not None and _fills(scope, call)):
            return Dependence(NO)
        if self.knowledge.loaders.get(dotted) or self.knowledge.module_bases.get(dotted):
            containers = ("Sequential", "ModuleList", "ModuleDict", "Module")
            if dotted.startswith("torch.nn.") and name in containers:
                return Dependence(NO)
            known = self.knowledge
            hints = known.loaders.get(dotted) is not None or known.dropout_by_default.get(dotted) is not None
            return Dependence(UNKNOWN, hints=hints)
        builds_layers = name[:1].isupper() and not dotted.startswith("torch.")
        if not builds_layers or first_part(dotted) in _OF_PYTHON:
            return Dependence(NO)
        return Dependence(UNKNOWN, hints=is_named_for_an_architecture(name))


_GIVES_TENSORS = ("torch.nn.functional.", "torch.nn.init.")
"""Beginnings of names of functions that stand beside the modules of torch: their results are tensors."""


def _of_mode_asked(cls: ClassInfo, method: FunctionInfo) -> Dependence:
    """Tell whether a method of `cls` computes by `self.training`, perhaps as an option of the constructor asks for it.

    `if self.noisy:`, and within it `if self.training:`.
    """
    if not computes_by_mode(method):
        return Dependence(NO)
    found = Dependence(YES, f"{cls.name}.{method.name} asks for self.training")
    asked = list(asked_for_mode(method))
    given_there = {argument.arg for argument, _ in parameters(method)} - {method.self_name}
    tests = (test for scope, node in asked for test, _ in conditions(scope, node))
    if not asked or any(scope is not method for scope, _ in asked) or any(names_in(t) & given_there for t in tests):
        return found
    return options.joined(options.where_asked_for(found, method, node) for _, node in asked)


def _is_plain_value(method: FunctionInfo, value: ast.expr) -> bool:
    if isinstance(value, ast.Name):
        return any(argument.arg == value.id and is_plain(argument.annotation) for argument, _ in parameters(method))
    return isinstance(value, ast.Constant) or (isinstance(value, ast.Call) and ast.unparse(value.func) in _LISTS)


_LISTS = frozenset({"list", "tuple", "range", "sorted"})


def _adds_methods(base: str, beside: bool) -> bool:
    """Tell whether a base out of sight brings no layers: one of Python's own, or a mixin `beside` a module in sight.

    A mixin alone, such as `ModelMixin`, may well be the module itself, or have the `forward` that is asked for.
    """
    return base in WITHOUT_LAYERS or first_part(base) in _OF_PYTHON or (beside and base.endswith("Mixin"))


def first_part(dotted: str) -> str:
    """Return `a` for `a.b.c`."""
    return dotted.split(".", 1)[0]


def _placed(found: Dependence, where: str | None) -> Dependence:
    """Return `found` of a layer that is kept in the attribute `where`."""
    if not where:
        return found
    options = frozenset(option._replace(layer=f"{option.layer} in {where}") for option in found.options)
    return found._replace(detail=found.detail and f"{found.detail} in {where}", options=options)


def _is_zero(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value in (0, None, False)


_LOAD = "torch.load"


def _fills(scope: FunctionInfo, call: ast.Call | None) -> bool:
    """Tell whether what a function loads are weights for what it builds, or a dict of entries, and no model."""
    return "load_state_dict" in scope.callees or (call is not None and is_looked_up(scope, call))


_RECURRENT = frozenset({"LSTM", "GRU", "RNN"})


_BUILDS = re.compile(r"init|make|build|create|setup|set_up|get_|construct|configure")


def _may_build(function: FunctionInfo) -> bool:
    """Tell whether what a function constructs may become a part of a model: in most methods, it is used and dropped."""
    return function.cls is None or "nn" in function.words or _BUILDS.search(function.name) is not None


def _evaluates_text(value: ast.expr) -> bool:
    """Tell whether a value is what Python's `eval` makes of a text, perhaps: `eval(m) if isinstance(m, str) else m`."""
    return any(isinstance(node, ast.Call) and ast.unparse(node.func) == "eval" for node in choices(value))


def _is_getattr(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Name) and call.func.id == "getattr" and len(call.args) > 1


def _members(method: FunctionInfo, me: str) -> set[str]:
    """Return the loop variables that stand for elements of an attribute of `self`: `for conv in self.convs`."""
    members: set[str] = set()
    for node in walk_own(method):
        if isinstance(node, (ast.For, ast.comprehension)):
            over = (n.value for n in ast.walk(node.iter) if isinstance(n, ast.Attribute))
            if any(isinstance(owner, ast.Name) and owner.id == me for owner in over):
                members |= names_in(node.target)
    return members
