"""Operations that torch documents as nondeterministic on some device: data in `nondeterminism.yaml`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from modellint.catalog import load_yaml
from modellint.runtime.trace import Op

TABLE = Path(__file__).with_name("nondeterminism.yaml")


@dataclass(frozen=True, slots=True)
class Entry:
    """One documented operation. `phase` is forward or backward; the latter is nothing for inference."""

    op: str
    phase: str
    devices: tuple[str, ...]
    outcome: str
    condition: str
    aten: tuple[str, ...]
    when: Mapping[str, Any]
    report: bool

    def concerns(self, op: Op, device: str) -> bool:
        """Tell whether a recorded operation is this one, on `device`, under its condition."""
        if not self.report or self.phase != "forward" or device not in self.devices or op.base not in self.aten:
            return False
        return all(_holds(op, key, wanted) for key, wanted in self.when.items())


def _holds(op: Op, key: str, wanted: Any) -> bool:
    if key == "overload":
        return bool(op.name.rpartition(".")[2] == wanted)
    if key == "dtype":
        return any((op.dtype or "").startswith(kind) for kind in wanted)
    value = op.args.get(key)
    return bool(value in wanted if isinstance(wanted, list) else value == wanted)


@cache
def entries() -> tuple[Entry, ...]:
    """Return the table."""
    return tuple(
        Entry(
            op=item["op"],
            phase=item["phase"],
            devices=tuple(item["device"]),
            outcome=item["outcome"],
            condition=item.get("condition", ""),
            aten=tuple(item.get("aten", ())),
            when=MappingProxyType(item.get("when", {})),
            report=item.get("report", True),
        )
        for item in load_yaml(TABLE).data["operations"]
    )


def find(op: Op, device: str) -> Entry | None:
    """Return the entry that an operation falls under on `device`, or None."""
    return next((entry for entry in entries() if entry.concerns(op, device)), None)
