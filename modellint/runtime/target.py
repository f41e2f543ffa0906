"""What a user names as TARGET: `package.module:name`, `path/file.py:name`, or a file that holds a model or weights."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

_MODULE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")
_FORMS = "a target is 'package.module:name', 'path/file.py:name' or a file such as model.pt2"
ARTEFACTS = (".pt", ".pth", ".bin", ".ckpt", ".ts", ".safetensors", ".pt2", ".onnx")
"""How the name of a file ends that is read instead of imported."""


class TargetError(ValueError):
    """A target cannot be understood; the message is one line."""


@dataclass(frozen=True, slots=True)
class Target:
    """A model, a model class or a factory: `name` (may be dotted) in a module or in a file.

    Exactly one of `module` and `file` is set; `file` is absolute. A file without a `name` holds a model or weights.
    """

    text: str
    name: str
    module: str | None = None
    file: Path | None = None

    @property
    def is_artefact(self) -> bool:
        """Tell whether the target is a file that is read instead of imported."""
        return not self.name


def parse_target(text: str, root: Path) -> Target:
    """Read a target as written on the command line or in the configuration.

    A relative file counts from `root`. Raises `TargetError` where the form is wrong or the file is not there;
    whether a module and the name exist is known only once it is imported.
    """
    if text.endswith(ARTEFACTS) and (file := Path(root, text)) and (file.is_file() or ":" not in text):
        if not file.is_file():
            raise TargetError(f"{text!r}: there is no file {text}")
        return Target(text, "", file=file.resolve())
    where, colon, name = text.rpartition(":")
    if not colon or not where or not name:
        raise TargetError(f"{text!r}: {_FORMS}")
    if not _MODULE.fullmatch(name):
        raise TargetError(f"{text!r}: {name!r} is not the name of a model, a class or a factory")
    if where.endswith(".py") or "/" in where or "\\" in where:
        file = Path(root, where)
        if not file.exists():
            raise TargetError(f"{text!r}: there is no file {where}")
        if not file.is_file():
            raise TargetError(f"{text!r}: {where} is not a file")
        return Target(text, name, file=file.resolve())
    if not _MODULE.fullmatch(where):
        raise TargetError(f"{text!r}: {where!r} is neither a module nor a .py file; {_FORMS}")
    return Target(text, name, module=where)
