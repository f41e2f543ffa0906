"""What a function does: trains, loads weights, runs a model; alone and through what it calls."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from modellint.burn.items import Function
from modellint.burn.project import Project

# What only training touches: gradients, optimisers, Burn's training loop.
_TRAINS = re.compile(
    r"\.backward\s*\(|\.fit\s*\(|\b(?:Learner|LearnerBuilder|SupervisedTraining|GradientsParams|GradientsAccumulator"
    r"|TrainOutput|AutodiffModule|ADModule)\b|\.grad(?:_remove|_replace)?\s*\(|\boptim\w*\s*\.\s*step\s*\("
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


class Conduct:
    """Answers for the functions of one project; every answer is worked out once."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._known: dict[tuple[Path, int], Deeds] = {}

    def of(self, function: Function) -> Deeds:
        """Return what a function does. Recursion ends: a function in the making adds nothing to itself."""
        known = self._known.get(function.key)
        if known is not None:
            return known
        self._known[function.key] = Deeds(False, False, False)
        text = function.text
        trains = bool(_TRAINS.search(text))
        loads = any(_is_load(call.method, call.path, text) for call in function.calls)
        forwards = bool(_RUNS.search(text))
        for call in function.calls:
            callee = self._project.callee(function, call)
            if isinstance(callee, Function) and callee.key != function.key:
                inner = self.of(callee)
                trains |= inner.trains
                loads |= inner.loads
                forwards |= inner.forwards
        deeds = self._known[function.key] = Deeds(trains, loads, forwards)
        return deeds

    def infers(self, function: Function) -> bool:
        """Tell whether a function serves inference: it loads weights and runs a model, or is named for it."""
        deeds = self.of(function)
        if deeds.trains or function.is_test or _is_test_file(function):
            return False
        return (deeds.loads and deeds.forwards) or ((deeds.loads or deeds.forwards) and named_for_inference(function))


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
