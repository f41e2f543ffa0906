"""What names say: whether a function is written for inference or for training."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from modellint.static.project import FunctionInfo, ModuleInfo

INFERENCE_NAME = re.compile(
    r"(^|_)(eval\w*|valid\w*|val|test\w*|infer\w*|predict\w*|pred|demo|serve\w*|serving|detect\w*|classify\w*|"
    r"recogni[sz]e\w*|generat\w*|sampl\w*|scor\w*|label\w*|answer\w*|transcri\w*|translat\w*|synthesi[sz]e\w*|"
    r"embed\w*|encode\w*|extract\w*|visuali[sz]e\w*|bench\w*|speed\w*|decode\w*|submit\w*|process_image|caption\w*|"
    r"summari[sz]e\w*|segment\w*|rank\w*|search\w*|retriev\w*|chat|reply|respond\w*|inpaint\w*|denoise\w*|enhance\w*|"
    r"imput\w*|separate|accurac(y|ies)$)(_|$)"
)
TRAINING_NAME = re.compile(
    r"(^|_)(train\w*|fit|learn\w*|optimi[sz]e\w*|update\w*|loss\w*|pretrain\w*|finetune\w*)(_|$)"
)
_LOSS = re.compile(r"(^|_)loss\w*(_|$)")
MOVES = frozenset({"to", "cuda", "cpu", "half", "float", "double", "bfloat16", "type"})
"""Methods that hand back the same module or tensor, on another device or of another precision."""
PREPARES_DATA = re.compile(r"(transforms?|tfms?|pre_filter|tokeni[sz]er?|processor|collate\w*|logger)$", re.I)
"""Names of what an object keeps to prepare data with, or to tell of it: no model either."""
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def is_test_file(path: Path) -> bool:
    """Tell whether a file belongs to a test suite, by pytest's conventions."""
    stem = path.stem
    named = stem.startswith("test_") or stem.endswith("_test") or stem == "conftest"
    return named or not _SUITE_ROOTS.isdisjoint(path.parts[-4:-1])


_SUITE_ROOTS = frozenset({"tests", "unit_tests", "unittests", "integration_tests"})


def may_be_script(path: Path) -> bool:
    """Tell whether a file of this name is perhaps a script that evaluates, though it is named like a test."""
    return is_test_file(path) and path.stem != "conftest" and _SUITE_ROOTS.isdisjoint(path.parts[-8:-1])


_SUITE_FOLDERS = frozenset({"test", "testing"})
"""Folders of test suites, or of scripts that try a network out."""
_SUITES = frozenset({"pytest", "unittest", "hypothesis", "nose", "absltest"})
_COMMAND_LINES = frozenset({"argparse", "click", "hydra", "fire", "typer", "tyro"})


def is_test_module(module: ModuleInfo) -> bool:
    """Tell whether a file belongs to a test suite, and is no script that evaluates: research code has `test_net.py`.

    A script has nothing that pytest would run, or a command line; in a folder of tests it defines nothing at all.
    """
    if not may_be_script(module.path):
        return is_test_file(module.path)
    roots = {part for imported in module.imports.values() for part in imported.module.split(".")}
    if not roots.isdisjoint(_SUITES):
        return True
    if not _SUITE_FOLDERS.isdisjoint(module.path.parts[-8:-1]):
        return bool(module.functions or module.classes) or "__main__" not in module.text
    if not roots.isdisjoint(_COMMAND_LINES):
        return False
    by_hand = module.body.functions.get("test")  # `if __name__ == "__main__": test()`
    tests = (f for f in module.functions if f.name.startswith("test_"))
    return any(not (_is_run_by_the_file(f) or _is_told_how(f)) for f in tests) or (
        by_hand is not None and by_hand.node is not None and not by_hand.node.args.args
    )


def _is_run_by_the_file(function: FunctionInfo) -> bool:
    """Tell whether the file itself gives a function what it takes, as in `pool.map(test_one_user, users)`."""
    node = function.node
    if function.cls is not None or node is None or len(node.args.args) == len(node.args.defaults):
        return False
    return re.search(rf"(?<!def )\b{function.name}\b", function.module.text) is not None


def _is_told_how(function: FunctionInfo) -> bool:
    """Tell whether a function has to be given something and may be told more, in a file that asserts nothing.

    `def test_engine(config, dataset, state_dict=None)`: pytest leaves parameters with a default alone.
    """
    node = function.node
    if function.cls is not None or node is None or "assert" in function.module.text:
        return False
    return 0 < len(node.args.defaults) < len(node.args.args)


def snake(name: str) -> str:
    """Return `name` in snake case, lower."""
    return _CAMEL.sub("_", name).lower()


def speaks_of_loss_alone(name: str) -> bool:
    """Tell whether a name speaks of a loss, and of training by that alone: evaluations compute losses, too."""
    text = snake(name)
    return _LOSS.search(text) is not None and TRAINING_NAME.search(_LOSS.sub("_", text)) is None


def speaks_of_inference(name: str) -> bool | None:
    """Tell whether a name speaks of inference (True), of training (False) or of neither (None)."""
    text = snake(name)
    if TRAINING_NAME.search(text):
        return False
    return True if INFERENCE_NAME.search(text) else None
