"""Run the subject again and again, from one and the same state, and count what it costs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from typing import Any

from torch import nn

from modellint.runtime.capture import adapter
from modellint.runtime.capture.ladder import MODES
from modellint.runtime.capture.state import preserved
from modellint.runtime.capture.subject import Subject
from modellint.runtime.probes.tape import Tape
from modellint.runtime.probes.tree import copied


class OutOfTime(Exception):
    """The budget is spent."""


class Bench:
    """The subject, the gradient mode in which it is run, and the count of forwards so far.

    `deadline` is a reading of `time.monotonic()`; no forward starts after it. `again` makes the model once more;
    `quick`: the default probes, at the least cost.
    """

    def __init__(
        self,
        subject: Subject,
        mode: Callable[[], Any],
        deadline: float | None = None,
        *,
        again: Callable[[], nn.Module] | None = None,
        quick: bool = False,
    ) -> None:
        self.subject = subject
        self.again = again
        self.quick = quick
        self.forwards = 0
        self.kept: dict[str, Any] = {}
        """What one probe has measured and another can use."""
        self._mode = mode
        self._deadline = deadline
        self._writes = True
        """Whether forwards write to parameters, as far as is known; before the first, they may."""

    @property
    def model(self) -> nn.Module:
        """The model under trace."""
        return self.subject.model

    def run(self, args: Any = None, kwargs: Any = None, *, tape: Tape | None = None, as_they_are: bool = False) -> Any:
        """Return the outputs of one forward from the model's present state, which is put back afterwards.

        `args` and `kwargs` stand in for the subject's own; `as_they_are`: no copies of them are made. Raises
        `OutOfTime`, and what the model raises.
        """
        with self.restored():
            return self.call(lambda run: run.call(), args, kwargs, tape=tape, as_they_are=as_they_are)

    @contextmanager
    def restored(self) -> Iterator[None]:
        """Run a block of forwards, and put the model back into the state in which it was."""
        forwards = self.forwards
        with preserved(self.model, copies=self._writes) as snapshot:
            yield
        self._writes = snapshot.parameters_changed or (self._writes and self.forwards == forwards)

    def reference(self) -> Any:
        """Return the outputs for the subject's own inputs, run once for all probes."""
        if "reference" not in self.kept:
            self.kept["reference"] = self.run()
        return self.kept["reference"]

    def step(
        self,
        args: Any = None,
        kwargs: Any = None,
        *,
        tape: Tape | None = None,
        model: nn.Module | None = None,
        as_they_are: bool = False,
    ) -> Any:
        """Do what `run` does, and leave the model as the forward leaves it."""
        return self.call(lambda run: run.call(), args, kwargs, tape=tape, model=model, as_they_are=as_they_are)

    def of(self, model: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Bench:
        """Return a bench for a part of the model, with the same deadline."""
        subject = replace(self.subject, model=model, entry=model, args=args, kwargs=kwargs)
        return Bench(subject, self._mode, self._deadline)

    def standing_in(self, model: nn.Module) -> Subject:
        """Return the subject with another model in the place of its own."""
        entry: Callable[..., Any] = model
        if self.subject.entry is not self.subject.model:
            entry = getattr(model, getattr(self.subject.entry, "__name__", "forward"))
        return replace(self.subject, model=model, entry=entry)

    def call(
        self,
        call: Callable[[Subject], Any],
        args: Any = None,
        kwargs: Any = None,
        *,
        tape: Tape | None = None,
        model: nn.Module | None = None,
        compiled: bool = False,
        as_they_are: bool = False,
    ) -> Any:
        """Count and run `call` on a subject with inputs of its own, and return copies of what it returns.

        `model` stands in for the subject's. `compiled`: what torch.compile wraps is compiled, not run as written.
        """
        self.check()
        given = self.subject if model is None else self.standing_in(model)
        if args is not None or kwargs is not None:
            given = replace(given, args=tuple(args or ()), kwargs=dict(kwargs or {}))
        run = given if as_they_are else given.fresh()
        watching: AbstractContextManager[Any] = nullcontext() if tape is None else tape.watching()
        self.forwards += 1
        # A tape may put another tensor in the place of a view, which inference mode does not allow.
        mode = MODES["no_grad"] if tape is not None and self._mode is MODES["inference_mode"] else self._mode
        with mode(), nullcontext() if compiled else adapter.eager(), watching:
            return copied(call(run))

    def tape(self, reference: Tape | None = None, *, model: nn.Module | None = None, **options: Any) -> Tape:
        """Return a tape for the next run."""
        return Tape(model or self.model, self.subject.sites, reference, **options)

    def check(self) -> None:
        """Raise `OutOfTime` when the budget is spent."""
        if self._deadline is not None and time.monotonic() > self._deadline:
            raise OutOfTime
