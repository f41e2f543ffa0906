"""Whether a class holds weights that are learned, and whether building an instance may load some."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from modellint.catalog.framework import Argument, Fact
from modellint.static.classes import Classes
from modellint.static.dependence import NO
from modellint.static.flow.values import RANDOM
from modellint.static.guards import choices, conditions, is_ruled_out, values_of, walk_own
from modellint.static.knowledge import ABSENT, UNSURE, settle
from modellint.static.options import is_left_out
from modellint.static.project import ClassInfo, FunctionInfo, Symbol
from modellint.static.project.facts import argument_given, arguments_given, is_left_to_heirs, parameters
from modellint.static.project.names import dotted_name, last_name

LEARNED = re.compile(
    r"^(Lazy)?(Linear|Bilinear|Conv(Transpose)?[123]d|Embedding(Bag)?|RNN|LSTM|GRU|RNNCell|LSTMCell|GRUCell|"
    r"MultiheadAttention|Transformer\w*)$"
)
_GRAPH_LAYERS = re.compile(
    r"^torch_geometric\.nn\.([a-z_]+\.)*(\w+Conv|Linear|MLP|\w*Embedding|Node2Vec|MetaPath2Vec|GCN|GraphSAGE|GIN|GAT|PNA|"
    r"EdgeCNN|DimeNet\w*|SchNet|AttentiveFP|LightGCN|GraphUNet)$"
)
"""Layers and models of PyTorch Geometric that learn; its pools and containers hold what they are given."""
_SCALES = re.compile(r"Norm(\dd)?$|PReLU$")  # they learn, but nobody notices while they are new
_LOADS = re.compile(r"load|restore|resume|pretrain|from_file|download|fetch|(^|_)ckpt|_checkpoint$|^copy_$")
_PLAIN_FILES = re.compile(
    r"^(json|yaml|toml|tomllib|omegaconf|OmegaConf|configparser)\b|^(safe_load|autoload)$|"
    r"(Config|Tokeni[sz]er(Fast)?|Processor|FeatureExtractor)\.\w+$|(^|\.)load_config$"
)
"""What reads text: options, and what prepares data; not a weight is in them."""
_ASKS = re.compile(r"pretrain|^weights$|checkpoint_path|ckpt|encoder_weights|state_dict|init_from|resume")
_READS_ARRAYS = frozenset({"torch.load", "np.load", "numpy.load", "pickle.load"})
_PARAMETER = frozenset({"data", "weight", "bias"})
_BASES = frozenset(
    "torch object abc typing transformers huggingface_hub lightning pytorch_lightning torchvision timm nn".split()
)
_LAYER_LIBRARIES = sys.stdlib_module_names | frozenset(
    "torch einops numpy timm torchvision transformers torch_geometric torch_scatter".split()
)
_MAX_FUNCTIONS = 120


class Made(NamedTuple):
    """What building an instance does.

    It makes layers that learn (`learns`), some of them not by a library's factory (`fresh`); it may load weights
    (`may_load`), into parts that a library's factory makes (`loads_parts`) or into what else it holds.
    """

    learns: bool = False
    may_load: bool = False
    fresh: bool = False
    loads_parts: bool = False
    foreign: bool = False

    @property
    def is_weightless(self) -> bool:
        """Whether an instance has no weights for certain: a loss, a metric, a transform."""
        return not (self.learns or self.may_load or self.foreign)

    def __or__(self, other: Made) -> Made:
        """Return what both do together."""
        return Made(*(mine or theirs for mine, theirs in zip(self, other, strict=True)))


_MAY_LOAD = Made(may_load=True)
_NEITHER = Made()


class Weights:
    """Answers about the classes of one project, each worked out once."""

    def __init__(self, classes: Classes) -> None:
        self._classes = classes
        self._project = classes.project
        self._knowledge = classes.knowledge
        self._known: dict[ClassInfo, Made] = {}
        self._functions: dict[ClassInfo, bool] = {}
        self._loading: dict[ClassInfo, bool] = {}

    def of(self, cls: ClassInfo) -> Made:
        """Return what building an instance of `cls` does, with all that it builds in turn."""
        if cls not in self._known:
            self._known[cls] = self._of(cls)
        return self._known[cls]

    def made_by(self, cls: ClassInfo, call: ast.Call, scope: FunctionInfo) -> Made:
        """Return what building an instance of `cls` does as `call` in `scope` asks for it: `Net(pretrained=False)`."""
        init = self._project.method(cls, "__init__")
        if init is None:
            return self.of(cls)
        flags = _flags(init, call)
        left_out = [c for c in init.calls if is_ruled_out(init, c, flags) or is_left_out(c, init, call, scope)]
        return self._of(cls, left_out) if left_out else self.of(cls)

    def always_loads(self, cls: ClassInfo) -> bool:
        """Tell whether the constructor of `cls` loads weights whatever it is given: `np.load(path)` at its top."""
        if cls not in self._loading:
            init = self._project.method(cls, "__init__")
            self._loading[cls] = init is not None and any(
                last_name(call) == "load_state_dict" or dotted_name(call.func) in _READS_ARRAYS
                for call in init.calls_of("load_state_dict", "load")
                if next(conditions(init, call), None) is None
            )
        return self._loading[cls]

    def is_function(self, cls: ClassInfo) -> bool:
        """Tell whether an instance is a mere function: without weights and mode, and so is each part that it runs."""
        if cls not in self._functions:
            self._functions[cls] = True  # as long as it is looked at
            self._functions[cls] = self.of(cls).is_weightless and self._runs_functions(cls)
        return self._functions[cls]

    def _runs_functions(self, cls: ClassInfo) -> bool:
        forward = self._project.method(cls, "forward")
        if forward is None or is_left_to_heirs(forward) or self._classes.dependence(cls).answer != NO:
            return False
        return all(self._makes_function(cls, part) for part in self._classes.parts_run(forward))

    def _makes_function(self, cls: ClassInfo, attribute: str) -> bool:
        """Tell whether all that a class keeps in `attribute` are functions that it makes itself."""
        kept = self._classes.kept_in(cls, attribute)
        return bool(kept) and all(self._is_made_function(method, value) for method, value in kept)

    def _is_made_function(self, method: FunctionInfo, value: ast.expr) -> bool:
        if not isinstance(value, ast.Call) or not self._classes.names_module(method, value.func):
            return False
        symbol = self._project.resolve_in(method, value.func)
        if symbol is not None and isinstance(symbol.target, ClassInfo):
            return self.is_function(symbol.target)
        return symbol is not None and not _SCALES.search(symbol.dotted)

    def _of(self, cls: ClassInfo, left_out: Sequence[ast.Call] = ()) -> Made:
        """Work out what building an instance does, but for the calls `left_out`."""
        made = _NEITHER
        seen: set[object] = set()
        queue: list[FunctionInfo] = []
        if not self._enter(cls, seen, queue):
            return _MAY_LOAD
        while queue:
            function = queue.pop()
            if len(seen) > _MAX_FUNCTIONS or _sets_parameters(function):
                return made | _MAY_LOAD
            for call in function.calls:
                if call in left_out:
                    continue
                made |= self._call(function, call, seen, queue)
                if made.may_load:
                    return made
        return made

    def _enter(self, cls: ClassInfo, seen: set[object], queue: list[FunctionInfo]) -> bool:
        """Queue the constructors of `cls`; False where a base class is out of sight and may do anything."""
        if cls in seen:
            return True
        seen.add(cls)
        mine, outside = self._project.ancestry(cls)
        if any(base.split(".", 1)[0] not in _BASES for base in outside):
            return False
        for owner in mine:
            for name in ("__init__", "__post_init__", "__new__"):
                if name in owner.methods:
                    _push(owner.methods[name], seen, queue)
        return True

    def _call(self, function: FunctionInfo, call: ast.Call, seen: set[object], queue: list[FunctionInfo]) -> Made:
        name = last_name(call.func) or ""
        text = dotted_name(call.func) or name
        asks = any(_asks_for_weights(keyword) for keyword in call.keywords)
        if asks or (_LOADS.search(name) and not _PLAIN_FILES.search(text)):
            symbol = self._project.resolve_in(function, call.func)
            makes = symbol is not None and self._makes_loaded(symbol)
            return Made(learns=True, loads_parts=True) if makes else _MAY_LOAD
        func = call.func
        if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) and func.value.id == function.self_name:
            method = self._project.method(function.cls, func.attr) if function.cls else None
            if method is not None:
                _push(method, seen, queue)
                return _NEITHER
            kept = self._classes.kept_in(function.cls, func.attr) if function.cls else []
            return self._picked(kept, call)
        symbol = self._project.resolve_in(function, func)
        if symbol is None and isinstance(func, ast.Name) and (held := values_of(function, func.id)):
            return self._picked([(function, value) for value in held], call)
        if symbol is None:
            dynamic = isinstance(func, ast.Call) and last_name(func) == "getattr"
            return Made(may_load=dynamic or "__dict__" in ast.unparse(func))
        target = symbol.target
        if isinstance(target, ClassInfo):
            return Made(may_load=not self._enter(target, seen, queue)) if self._classes.is_module(target) else _NEITHER
        if isinstance(target, FunctionInfo):
            _push(target, seen, queue)
            return _NEITHER
        return self._external(symbol.dotted, call)

    def _picked(self, kept: list[tuple[FunctionInfo, ast.expr]], call: ast.Call) -> Made:
        """Tell it of a call of one of several layers of torch: `conv = nn.Conv2d if flat else nn.Conv3d`."""
        made = _NEITHER
        for scope, value in kept:
            for choice in choices(value):
                symbol = self._project.resolve_in(scope, choice)
                if symbol is not None and symbol.target is None and symbol.dotted.startswith("torch.nn."):
                    made |= self._external(symbol.dotted, call)
        return made

    def _makes_loaded(self, symbol: Symbol) -> bool:
        """Tell whether a call makes a model that loads weights by itself: by a library, or in its own constructor."""
        if symbol.target is None:
            return self._makes_model(symbol.dotted)
        if not isinstance(symbol.target, ClassInfo) or not self._classes.is_module(symbol.target):
            return False
        init = self._project.method(symbol.target, "__init__")
        return init is not None and "load_state_dict" in init.callees

    def _makes_model(self, dotted: str) -> bool:
        """Tell whether a library's function makes a whole model with weights of its own, and reads no file of ours."""
        return dotted.split(".", 1)[0] != "torch" and self._knowledge.loaders.get(dotted) is not None

    def _external(self, dotted: str, call: ast.Call) -> Made:
        loader = self._knowledge.loaders.get(dotted)
        if loader is not None:
            random = self.known_random(loader, call)
            if random or not self._makes_model(dotted):
                return Made(learns=True, may_load=not random, fresh=random)
            return Made(learns=True, loads_parts=True)
        last = dotted.rsplit(".", 1)[-1]
        if dotted == "torch.nn.Parameter":  # one without a gradient is a constant
            frozen = any(k.arg == "requires_grad" and ast.unparse(k.value) == "False" for k in call.keywords)
            return _NEITHER if frozen else Made(learns=True)
        if (dotted.startswith("torch.nn.") and LEARNED.match(last)) or _GRAPH_LAYERS.match(dotted):
            return Made(learns=True, fresh=True)
        library, built = dotted.split(".", 1)[0], last[:1].isupper()
        return Made(may_load=built and library not in _LAYER_LIBRARIES, foreign=built and library in _BASES - {"torch"})

    def known_random(self, fact: Fact, call: ast.Call) -> bool:
        """Tell whether a library's loader, called as in `call`, leaves the weights random for certain."""

        def given(argument: Argument) -> object:
            value = argument_given(call, argument.names, argument.position)
            if value is None:
                return UNSURE if any(keyword.arg is None for keyword in call.keywords) else ABSENT
            return value.value if isinstance(value, ast.Constant) else UNSURE

        return settle(fact, given).weights == RANDOM


def _flags(init: FunctionInfo, call: ast.Call) -> dict[str, bool]:
    """Return the arguments of a constructor that are True or False, or None, as a call gives them or leaves them."""
    if any(isinstance(argument, ast.Starred) for argument in call.args) or any(k.arg is None for k in call.keywords):
        return {}
    given = arguments_given(init, call)
    asked = ((argument.arg, given.get(argument.arg, default)) for argument, default in parameters(init))
    return {
        name: bool(value.value)
        for name, value in asked
        if isinstance(value, ast.Constant) and value.value in (True, False, None) and not values_of(init, name)
    }


def _push(function: FunctionInfo, seen: set[object], queue: list[FunctionInfo]) -> None:
    if function not in seen:
        seen.add(function)
        queue.append(function)


def _asks_for_weights(keyword: ast.keyword) -> bool:
    if keyword.arg is None or not _ASKS.search(keyword.arg):
        return False
    return not (isinstance(keyword.value, ast.Constant) and not keyword.value.value)


def _sets_parameters(function: FunctionInfo) -> bool:
    """Tell whether a function fills weights with something else than a random initialisation, or ties them."""
    for node in walk_own(function):
        if isinstance(node, ast.Assign) and any(
            isinstance(target, ast.Attribute) and target.attr in _PARAMETER for target in _targets(node)
        ):
            value = node.value
            tied = isinstance(value, ast.Attribute) and value.attr in _PARAMETER
            drawn = isinstance(value, ast.Call) and _DRAWS.search(ast.unparse(value))
            if not tied and not drawn:
                return True
    return False


_DRAWS = re.compile(r"\b(rand\w*|normal_?|uniform_?|zeros\w*|ones\w*|empty\w*|full\w*|init\.\w+|eye)\(")


def _targets(node: ast.Assign) -> Iterator[ast.expr]:
    for target in node.targets:
        yield from target.elts if isinstance(target, (ast.Tuple, ast.List)) else (target,)
