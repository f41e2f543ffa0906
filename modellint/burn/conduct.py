"""What a function does: trains, loads weights, runs a model; alone and through what it calls."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from modellint.burn.items import Function
from modellint.burn.project import Project, Struct

# What only training touches: gradients, optimisers, Burn's training loop.
_TRAINS = re.compile(
    r"\.backward\s*\(|\.fit\s*\(|\b(?:Learner|LearnerBuilder|SupervisedTraining|GradientsParams|GradientsAccumulator"
    r"|TrainOutput|AutodiffModule|ADModule)\b|\.grad(?:_remove|_replace)?\s*\(|\boptim\w*\s*\.\s*step\s*\("
)
# One of them is in every text that the expression matches: looked for first, which costs a tenth of it.
_TRAINING_WORDS = (
    "backward",
    ".fit",
    "Learner",
    "SupervisedTr",
    "Gradients",
    "TrainOut",
    "diffModule",
    "ADModule",
    ".grad",
    "optim",
)
_LOADS = frozenset({"load_record", "load_file", "load_bytes", "load_from", "load_snapshot"})
_LOADERS = re.compile(r"Record|Recorder|Store|Checkpoint|Snapshot")
_RUN = r"(?:forward|infer|predict|generate|classify)(?:_\w+)?"
# In the text, for calls inside macros such as `println!` have no syntax tree.
_RUNS = re.compile(rf"\.{_RUN}\s*\(")
FORWARDS = re.compile(rf"{_RUN}$")
_INFERENCE = frozenset(
    "infer inference inferencing predict prediction predictions predictor generate generation eval evaluate evaluation "
    "serve server serving classify".split()
)
_WORD = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")


@dataclass(frozen=True, slots=True)
class Deeds:
    """What a function does, itself or through its callees in sight."""

    trains: bool
    loads: bool
    forwards: bool


_TRAINING = Deeds(trains=True, loads=False, forwards=False)


class Conduct:
    """Answers for the functions of one project; every answer is worked out once."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._known: dict[tuple[Path, int], Deeds] = {}

    def of(self, function: Function) -> Deeds:
        """Return what a function does; of one that trains nothing else is asked.

        Recursion ends: a function in the making adds nothing to itself.
        """
        known = self._known.get(function.key)
        if known is not None:
            return known
        self._known[function.key] = Deeds(False, False, False)
        deeds = self._known[function.key] = self._worked_out(function)
        return deeds

    def _worked_out(self, function: Function) -> Deeds:
        text = function.text
        if any(word in text for word in _TRAINING_WORDS) and _TRAINS.search(text):
            return _TRAINING
        loads = "load" in text and any(_is_load(call.method, call.path, text) for call in function.calls)
        forwards = bool(_RUNS.search(text))
        for call in function.calls:
            callee = self._project.callee(function, call)
            if isinstance(callee, Function) and callee.key != function.key:
                inner = self.of(callee)
                if inner.trains:
                    return _TRAINING
                loads |= inner.loads
                forwards |= inner.forwards
        return Deeds(False, loads, forwards)

    def infers(self, function: Function) -> bool:
        """Tell whether a function serves inference: it loads weights and runs a model, or is named for it."""
        if _is_test_file(function) or function.is_test:
            return False
        deeds = self.of(function)
        return (deeds.loads and deeds.forwards) or ((deeds.loads or deeds.forwards) and named_for_inference(function))

    def serves(self, struct: Struct) -> Function | None:
        """Return the method for which a type is one of inference: it loads weights itself, or is named for it.

        None where a method trains, and for a model that can do both.
        """
        methods = [function for function in struct.file.functions if function.owner == struct.name]
        if any(self.of(method).trains for method in methods):
            return None
        named = _speaks(struct.name)
        return next((m for m in methods if (named or self.of(m).loads) and self.infers(m)), None)


def named_for_inference(function: Function) -> bool:
    """Tell whether a function, its modules, its file or its type are named for inference."""
    path = function.file.path
    stem = path.parent.name if path.stem in ("main", "mod", "lib") else path.stem
    return any(_speaks(name) for name in (function.name, *function.module, stem, function.owner))


def path_names_inference(path: tuple[str, ...]) -> bool:
    """Tell whether a path out of sight is named for inference."""
    return any(_speaks(name) for name in path)


def _speaks(name: str) -> bool:
    return any(word.lower() in _INFERENCE for word in _WORD.findall(name))


def _is_load(method: str, path: tuple[str, ...], text: str) -> bool:
    if method in _LOADS:
        return True
    if method == "load":
        return bool(_LOADERS.search(text))
    return len(path) > 1 and path[-1] in ("load", *_LOADS) and bool(_LOADERS.search(path[-2]))


def _is_test_file(function: Function) -> bool:
    return bool({"tests", "benches"}.intersection(function.file.path.parts[-3:-1]))
