"""Which probes there are, and what `--probe` may say. Never imports torch."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ProbeInfo:
    """A probe as its users see it: `code` of the rule it feeds, `forwards` it takes while nothing is wrong."""

    name: str
    code: str
    forwards: int
    about: str
    in_default: bool = False
    in_all: bool = True


PROBES: Mapping[str, ProbeInfo] = {
    info.name: info
    for info in (
        ProbeInfo("repeat", "ML701", 4, "the same input again", in_default=True),
        ProbeInfo("neighbours", "ML607", 6, "other samples in the batch, the first and the last kept", in_default=True),
        ProbeInfo("alone", "ML702", 2, "a sample alone against the same sample in a batch", in_default=True),
        ProbeInfo("reload", "ML704", 3, "saved and loaded into a fresh model", in_default=True),
        ProbeInfo("layout", "ML705", 5, "the same values in another memory layout"),
        ProbeInfo("padding", "ML707", 5, "other values under the mask, and another length of the padding"),
        ProbeInfo("threads", "ML703", 2, "one thread against several"),
        ProbeInfo("export", "ML703", 3, "torch.export's module against eager"),
        ProbeInfo("aot_eager", "ML703", 3, "torch.compile(backend='aot_eager') against eager"),
        ProbeInfo("inductor", "ML703", 3, "torch.compile against eager; needs a C++ compiler", in_all=False),
        ProbeInfo("onnxruntime", "ML703", 3, "onnxruntime against eager; needs onnx and onnxruntime", in_all=False),
        ProbeInfo("float64", "ML703", 2, "double precision against the model's own", in_all=False),
        ProbeInfo("bfloat16", "ML703", 2, "bfloat16 against the model's own", in_all=False),
        ProbeInfo("cuda", "ML703", 2, "the GPU against the model's own device", in_all=False),
    )
}
"""In the order in which they run."""

DEFAULT = "default"
ALL = "all"


class ProbeNameError(ValueError):
    """`--probe` names something that is none; the message is one line."""


def parse_probes(text: str) -> tuple[str, ...]:
    """Return the probes that `text` names, in the order in which they run. Raises `ProbeNameError`."""
    wanted: set[str] = set()
    for word in (part.strip() for part in text.split(",")):
        if word == DEFAULT:
            wanted |= {name for name, info in PROBES.items() if info.in_default}
        elif word == ALL:
            wanted |= {name for name, info in PROBES.items() if info.in_all}
        elif word in PROBES:
            wanted.add(word)
        else:
            close = difflib.get_close_matches(word, [*PROBES, DEFAULT, ALL], 1)
            hint = f"; did you mean {close[0]}?" if close else ""
            raise ProbeNameError(f"--probe: there is no probe {word!r}{hint} (there are: {', '.join(PROBES)})")
    return tuple(name for name in PROBES if name in wanted)
