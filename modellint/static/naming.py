"""What names say: whether a function is written for inference or for training."""

from __future__ import annotations

import re
from pathlib import Path

INFERENCE_NAME = re.compile(
    r"(^|_)(eval\w*|valid\w*|val|test\w*|infer\w*|predict\w*|pred|demo|serve\w*|serving|detect\w*|classify\w*|"
    r"recogni[sz]e\w*|generat\w*|sampl\w*|scor\w*|label\w*|answer\w*|transcri\w*|translat\w*|synthesi[sz]e\w*|"
    r"embed\w*|encode\w*|extract\w*|visuali[sz]e\w*|bench\w*|speed\w*|decode\w*|submit\w*|process_image|caption\w*|"
    r"summari[sz]e\w*|segment\w*|rank\w*|search\w*|retriev\w*|chat|reply|respond\w*|inpaint\w*|denoise\w*|enhance\w*)(_|$)"
)
TRAINING_NAME = re.compile(
    r"(^|_)(train\w*|fit|learn\w*|optimi[sz]e\w*|update\w*|loss\w*|pretrain\w*|finetune\w*)(_|$)"
)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def is_test_file(path: Path) -> bool:
    """Tell whether a file belongs to a test suite, by pytest's conventions."""
    stem = path.stem
    return stem.startswith("test_") or stem.endswith("_test") or stem == "conftest" or "tests" in path.parts[-4:-1]


def snake(name: str) -> str:
    """Return `name` in snake case, lower."""
    return _CAMEL.sub("_", name).lower()


def speaks_of_inference(name: str) -> bool | None:
    """Tell whether a name speaks of inference (True), of training (False) or of neither (None)."""
    text = snake(name)
    if TRAINING_NAME.search(text):
        return False
    return True if INFERENCE_NAME.search(text) else None
