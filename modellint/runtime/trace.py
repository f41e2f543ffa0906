"""What was seen of one model, whichever producer saw it. Rules read only this; it crosses processes as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from modellint.runtime.probes.result import ProbeResult, result_from_json

INPUT = 1
"""Taint: the value depends on the model's inputs."""
RANDOM = 2
"""Taint: the value depends on a random draw."""
RECURRENT = ("lstm", "gru", "rnn_tanh", "rnn_relu")


@dataclass(frozen=True, slots=True)
class Frame:
    """A place in source code. `columns` are 0-based offsets in UTF-8 bytes of (start, end), where known."""

    filename: str
    row: int
    end_row: int
    columns: tuple[int, int] | None
    function: str
    """Qualified: `package.module.Class.method`."""


@dataclass(frozen=True, slots=True)
class Site:
    """Where something was called: the innermost line outside torch and, if another, the user's own line."""

    frame: Frame
    project: Frame | None = None


@dataclass(frozen=True, slots=True)
class Op:
    """An operation that was observed (level `record`), or that a symbolic graph holds.

    `site` indexes `Trace.sites`. `within` is the index of the enclosing recorded call, so that the parts of a
    composite (attention and the dropout inside it) are not counted twice. `grad` numbers the region, switched on by
    the forward itself, in which autograd records this operation (0: it does not). `shape` (elements per axis), `dtype`
    and `device` are those of the first tensor argument. `reaches`: its result reaches an output, a buffer or
    Python. `repeats`: for a draw, it came again in a second forward; `reseeded`: from the very same generator
    state although the global seeds had been changed, so the model seeds it itself.
    """

    name: str
    module: str | None
    site: int | None = None
    args: Mapping[str, Any] = field(default_factory=dict)
    taint: int = 0
    grad: int = 0
    draws: bool = False
    reaches: bool = True
    repeats: bool = True
    reseeded: bool = False
    within: int | None = None
    shape: tuple[int, ...] = ()
    dtype: str | None = None
    device: str | None = None
    bytes: int = 0
    level: str = "record"
    in_init: bool = False

    @property
    def base(self) -> str:
        """Return the bare name: `aten.dropout_.default` and `torch.nn.functional.dropout` are `dropout`."""
        parts = self.name.split(".")
        name = parts[1] if parts[0] in ("aten", "prims", "torchvision") and len(parts) > 2 else parts[-1]
        return name.rstrip("_") or name

    @property
    def live(self) -> bool:
        """Tell whether an operation that can draw random numbers really does so with its arguments."""
        args, base = self.args, self.base
        if not self.draws or args.get("train") is False or args.get("training") is False:
            return False
        if "attention" in base:
            return bool(args.get("dropout_p", 0))
        if "dropout" in base:
            return bool(args.get("p", 1))
        if base in RECURRENT:
            return bool(args.get("dropout", 0)) and bool(args.get("train", True)) and args.get("num_layers", 2) > 1
        return base != "rrelu" or bool(args.get("training"))


@dataclass(frozen=True, slots=True)
class ModuleFact:
    """A module as the model holds it, before any forward.

    `settings` are the constructor facts worth showing (p, momentum, ...). `reads_mode`: its own code asks
    `self.training`. `registered` is False for one that ran without being a submodule. `calls` counts its forwards,
    `site` is its first call, `built` where it was constructed. `has_state`: it owns parameters or buffers.
    """

    path: str
    type: str
    training: bool
    settings: Mapping[str, Any] = field(default_factory=dict)
    reads_mode: bool = False
    registered: bool = True
    has_state: bool = False
    calls: int = 0
    site: int | None = None
    built: int | None = None
    in_init: bool = False

    @property
    def short_type(self) -> str:
        """Return the class name alone."""
        return self.type.rpartition(".")[2]


@dataclass(frozen=True, slots=True)
class Level:
    """A rung of the capture ladder: `answered`, or the `reason` why it did not."""

    name: str
    answered: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class HiddenDraw:
    """A random state that one forward moved without any operation of torch that we saw (`random`, `numpy`...)."""

    source: str
    site: int | None


@dataclass(frozen=True, slots=True)
class ModeChange:
    """Something that only one of the two modes runs: `mode` is the one that does.

    `random`: it draws random numbers, or depends on such a draw.
    """

    mode: str
    name: str
    count: int
    site: int | None
    module: str | None
    random: bool = False


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a target could not be traced to the end: `kind` in raised, hung, exited, crashed, memory, output."""

    kind: str
    message: str
    frame: Frame | None = None
    project: Frame | None = None


@dataclass(frozen=True, slots=True)
class Trace:
    """Everything that was seen of one target."""

    target: str
    home: Frame
    """Where the target itself is defined: what a finding points at when nothing better is known."""
    torch_version: str
    device: str
    root_training: bool
    levels: tuple[Level, ...] = ()
    modules: tuple[ModuleFact, ...] = ()
    ops: tuple[Op, ...] = ()
    sites: tuple[Site, ...] = ()
    hidden_draws: tuple[HiddenDraw, ...] = ()
    mode_changes: tuple[ModeChange, ...] = ()
    failure: Failure | None = None
    batch: int | None = None
    """Size of the first axis of the first input tensor."""
    graph_bytes: int | None = None
    """What autograd kept alive when the forward switched it on by itself."""
    graph_difference: float | None = None
    """How far the answer then is from the one without any graph: max|difference| / max|reference|."""
    notes: tuple[str, ...] = ()
    signature: str = ""
    suggestion: str = ""
    """An input spec that would fit, where an input was needed and none was given."""
    probes: tuple[ProbeResult, ...] = ()
    environment: Mapping[str, Any] = field(default_factory=dict)
    """What besides the model decides on its answers: versions, device, precision, determinism, seeds."""

    def level(self) -> str:
        """Return the name of the highest level that answered."""
        return next((level.name for level in self.levels if level.answered), "walk")

    def outermost(self) -> Iterator[Op]:
        """Yield the operations that are not parts of a recorded call which says what they are.

        A part that draws inside a call which claims not to is told by itself.
        """
        for op in self.ops:
            if op.within is None or (op.live and not self.ops[op.within].live):
                yield op

    def site(self, index: int | None) -> Site | None:
        """Return the site with this index."""
        return None if index is None else self.sites[index]


def to_json(value: Any) -> Any:
    """Return a dataclass of this module as JSON data, leaving out what equals its default."""
    if isinstance(value, tuple):
        return [to_json(item) for item in value]
    if not hasattr(value, "__dataclass_fields__"):
        return dict(value) if isinstance(value, Mapping) else value
    data = {}
    for entry in fields(value):
        item = getattr(value, entry.name)
        if item == entry.default or (entry.name in ("args", "settings", "details", "environment") and not item):
            continue
        data[entry.name] = to_json(item)
    return data


def trace_from_json(data: Mapping[str, Any]) -> Trace:
    """Undo `to_json` for a whole trace."""
    return Trace(
        **{
            **data,
            "home": frame_from_json(data["home"]),
            "levels": tuple(Level(**item) for item in data.get("levels", ())),
            "modules": tuple(ModuleFact(**item) for item in data.get("modules", ())),
            "ops": tuple(Op(**{**item, "shape": tuple(item.get("shape", ()))}) for item in data.get("ops", ())),
            "sites": tuple(
                Site(frame_from_json(item["frame"]), _optional(item.get("project"))) for item in data.get("sites", ())
            ),
            "hidden_draws": tuple(HiddenDraw(**item) for item in data.get("hidden_draws", ())),
            "mode_changes": tuple(ModeChange(**item) for item in data.get("mode_changes", ())),
            "failure": failure_from_json(data["failure"]) if data.get("failure") else None,
            "notes": tuple(data.get("notes", ())),
            "probes": tuple(map(result_from_json, data.get("probes", ()))),
        }
    )


def failure_from_json(data: Mapping[str, Any]) -> Failure:
    """Undo `to_json` for a failure."""
    return Failure(data["kind"], data["message"], _optional(data.get("frame")), _optional(data.get("project")))


def frame_from_json(data: Mapping[str, Any]) -> Frame:
    """Undo `to_json` for a frame."""
    columns = data.get("columns")
    return Frame(data["filename"], data["row"], data["end_row"], tuple(columns) if columns else None, data["function"])


def _optional(data: Mapping[str, Any] | None) -> Frame | None:
    return frame_from_json(data) if data else None
