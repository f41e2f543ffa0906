"""The table of nondeterministic operations against the documentation of the torch that is installed."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from modellint.runtime.nondeterminism import TABLE, entries, find
from modellint.runtime.trace import Op


def _documented(text: str) -> Counter[tuple[str, str]]:
    """Return (operation, phase) of every bullet of the docstring."""
    listed = text.split("In addition, several operations")[0]
    bullets = re.split(r"^\s+\* ", listed, flags=re.MULTILINE)[1:]
    return Counter(
        (match[1], "backward" if re.search(r"differentiate|requires grad", bullet) else "forward")
        for bullet in bullets
        if (match := re.match(r":(?:class|func):`([\w.]+)`", bullet))
    )


@pytest.mark.torch
def test_every_documented_operation_is_in_the_table_and_nothing_else() -> None:
    torch = pytest.importorskip("torch")
    documented = _documented(torch.use_deterministic_algorithms.__doc__)

    assert sum(documented.values()) == 48
    assert Counter((entry.op, entry.phase) for entry in entries()) == documented


@pytest.mark.torch
def test_what_raises_and_what_falls_back_is_told_apart_as_documented() -> None:
    torch = pytest.importorskip("torch")
    falls_back, raises = torch.use_deterministic_algorithms.__doc__.split("The following normally")[1:3]
    for outcome, text in (("deterministic", falls_back), ("raises", raises)):
        here = Counter((entry.op, entry.phase) for entry in entries() if entry.outcome == outcome)
        assert here == _documented(text)


def test_what_is_not_reported_says_why() -> None:
    text = TABLE.read_text(encoding="utf-8")

    assert text.count("    report: false") == text.count("    why:") > 0


@pytest.mark.parametrize(
    ("op", "device"),
    [
        (Op("aten.cumsum.default", "", dtype="int64"), "cuda"),
        (Op("aten.cumsum.default", "", dtype="float32"), "cpu"),
        (Op("aten.median.default", ""), "cuda"),
        (Op("aten.bincount.default", ""), "cuda"),
        (Op("aten.index_put_.default", "", args={"accumulate": False}), "cuda"),
        (Op("aten.conv2d.default", ""), "cuda"),
        (Op("aten.upsample_bilinear2d.vec", ""), "cuda"),
    ],
    ids=lambda value: value.name if isinstance(value, Op) else value,
)
def test_deterministic_in_a_forward_there(op: Op, device: str) -> None:
    assert find(op, device) is None


@pytest.mark.parametrize(
    ("op", "device", "documented"),
    [
        (Op("aten.cumsum.default", "", dtype="bfloat16"), "cuda", "torch.cumsum"),
        (Op("aten.scatter_add_.default", ""), "cuda", "torch.Tensor.scatter_add_"),
        (Op("aten.median.dim", ""), "cuda", "torch.median"),
        (Op("aten.bincount.default", "", args={"weights": "tensor"}), "cuda", "torch.bincount"),
        (Op("aten.scatter_reduce.two", "", args={"reduce": "mean"}), "cuda", "torch.Tensor.scatter_reduce"),
        (Op("aten.index_put_.default", "", args={"accumulate": True}), "cpu", "torch.Tensor.index_put"),
    ],
    ids=lambda value: value.name if isinstance(value, Op) else value,
)
def test_nondeterministic_in_a_forward_there(op: Op, device: str, documented: str) -> None:
    entry = find(op, device)

    assert entry is not None
    assert entry.op == documented
