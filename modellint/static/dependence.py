"""Whether a module behaves differently in training mode."""

from __future__ import annotations

import re
from typing import NamedTuple

YES, NO, UNKNOWN = "yes", "no", "unknown"
OF_LIBRARY = "a layer of "
"""How a detail begins that is a network of a library, which is known to have such layers, not a layer in sight."""


_ARCHITECTURE = re.compile(
    r"Res-?Ne([Xx]t|[Ss]t|t)|Resnet|Dense[Nn]et|Inception|Xception|Alex[Nn]et|VGG|"
    r"(Efficient|Mobile|Shuffle|Mnas|Squeeze|Conv[Nn]e[Xx])([Nn]et|t)|U-?[Nn]et|Deep[Ll]ab|HRNet|"
    r"YOLO|Yolo|(Mask|Faster)-?RCNN|DETR|"
    r"Bert(?=[A-Z_\d]|$)|BERT|Electra|ELECTRA|GPT|(?<![a-zA-Z])M?T5|BART|Bart(?=[A-Z_\d]|$)|Transformer|Conformer|ViT|Swin|"
    r"[Ww]av2[Vv]ec|Hu(bert|BERT)"
)


def is_named_for_an_architecture(name: str) -> bool:
    """Tell whether a class is named for a kind of network that normalises batches, or drops values, as it was
    published: residual, dense and inception networks, U-Nets and detectors do the one, transformers the other."""
    return _ARCHITECTURE.search(name) is not None


class Option(NamedTuple):
    """A parameter of a constructor on which `layer`, which depends on the mode, hangs.

    The layer is there where `wanted` is given, or anything but zero, None and False where `wanted` is None: a chance
    of dropout, a flag, the name of a norm. `default` tells whether it is there where nobody gives anything. `needs` are
    the options on which it hangs as well: dropout between the layers of a network, of which there may be one alone.
    """

    parameter: str
    layer: str
    default: str
    wanted: str | int | float | None = None
    needs: tuple[Option, ...] = ()


class Dependence(NamedTuple):
    """Whether a module behaves differently in training mode, and a layer that does.

    `options` are what callers may switch layers off or on with; with options YES is said of what the constructor does
    unless it is told otherwise. `hangs_on` are their parameters, and others that the answer hangs on, where nothing
    else leaves it open. `hints` is set where the answer is unknown and a model of a library, which most likely has
    such layers, is a part.
    """

    answer: str
    detail: str = ""
    hangs_on: frozenset[str] = frozenset()
    options: frozenset[Option] = frozenset()
    hints: bool = False

    @property
    def is_certain(self) -> bool:
        """Tell whether there is a layer that depends on the mode, whatever the constructor is given."""
        return self.answer == YES and not self.options
