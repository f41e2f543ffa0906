"""A forward without data: shapes alone, on the meta device. For models that are too big, or too slow, to run here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch

from modellint.runtime.capture.ladder import MODES, Capture, merge
from modellint.runtime.capture.subject import Subject
from modellint.runtime.capture.walk import walk
from modellint.runtime.trace import Level, Op


def capture_without_data(subject: Subject, why: str) -> Capture:
    """Record one forward of a model whose tensors are on the meta device; `why` no real one was recorded.

    Random states do not move without data, so draws that repeat themselves are not told from others. Raises what
    the forward raises, of the gradient mode that came farthest: many a model asks for values.
    """
    found = Capture()
    for _, mode in MODES.items():
        recorder = subject.recorder(lambda tensor: None)
        try:
            with torch.device("meta"), mode(), recorder.recording((subject.args, subject.kwargs)):
                recorder.finish(subject.call())
        except Exception as error:
            failure = error
            continue
        found.levels = [Level("record", False, why), Level("meta", True), Level("walk", True)]
        found.ops = [_on_meta(op, recorder.random_reaches, recorder.uses_gradients) for op in recorder.ops]
        found.modules = list(merge(walk(subject.model, subject.built), recorder.calls).values())
        return found
    raise failure


def _on_meta(op: Op, reaches: bool, uses_gradients: bool) -> Op:
    return replace(op, level="meta", device=None, reaches=reaches, grad=0 if uses_gradients else op.grad)


def to_meta(value: Any) -> Any:
    """Return arguments with the shapes of their tensors only."""
    if isinstance(value, torch.Tensor):
        return value.to("meta")
    if isinstance(value, Mapping):
        return {key: to_meta(item) for key, item in value.items()} if type(value) is dict else value
    if type(value) in (list, tuple):
        return type(value)(to_meta(item) for item in value)
    return value
