"""ML703: errors planted in backends, each found in its module, whether the backend shows its graph or not."""

from __future__ import annotations

import copy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

from modellint.runtime.capture.ladder import MODES  # noqa: E402
from modellint.runtime.capture.sites import SiteTable  # noqa: E402
from modellint.runtime.capture.subject import Subject  # noqa: E402
from modellint.runtime.probes.backends import (  # noqa: E402
    BACKENDS,
    Prepare,
    Prepared,
    compare_backend,
    compiled,
    converted,
)
from modellint.runtime.probes.bench import Bench  # noqa: E402
from modellint.runtime.probes.graphs import Graphs  # noqa: E402
from modellint.runtime.probes.result import FAILED, PASSED, SKIPPED  # noqa: E402

pytestmark = pytest.mark.torch
ROOT = Path(__file__).parents[3]


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(16)
        self.fc1 = nn.Linear(16, 32)
        self.act = nn.GELU()
        self.fc2 = nn.Linear(32, 16)

    def forward(self, x: Any) -> Any:
        return x + self.fc2(self.act(self.fc1(self.norm(x))))


class Small(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv1d(4, 16, 3, stride=1, padding=1)
        self.blocks = nn.Sequential(Block(), Block(), Block())
        self.head = nn.Linear(16, 5)

    def forward(self, x: Any) -> Any:
        return self.head(self.blocks(self.stem(x).transpose(1, 2)).mean(1))


def _epsilon(model: Any) -> str:
    model.blocks[1].norm.eps = 1e-1
    return "blocks.1.norm"


def _tanh(model: Any) -> str:
    model.blocks[2].act.approximate = "tanh"
    return "blocks.2.act"


def _rounded(model: Any) -> str:
    weight = model.blocks[0].fc2.weight
    weight.data.copy_(weight.data.half())
    weight.data[3, 4] += 0.02
    return "blocks.0.fc2"


def _unloaded(model: Any) -> str:
    nn.init.normal_(model.blocks[1].fc1.weight)
    return "blocks.1.fc1"


def _stride(model: Any) -> str:
    model.stem.stride = (2,)
    return "stem"


def _nothing(model: Any) -> str:
    return ""


def opaque(model: nn.Module, other: nn.Module) -> Prepare:
    """Return a backend that runs `other`'s modules in the place of `model`'s, and lets nobody look inside."""
    twins = dict(zip(model.modules(), other.modules(), strict=True))

    def prepare(bench: Bench) -> Prepared:
        twin = twins[bench.model]
        return Prepared(lambda args, kwargs: twin(*args, **kwargs), Graphs())

    return prepare


def compare(model: nn.Module, prepare: Prepare) -> Any:
    subject = Subject(model, model, (torch.randn(2, 4, 12),), {}, SiteTable((ROOT,)), {})
    return compare_backend(Bench(subject, MODES["inference_mode"]), name="planted", prepare=prepare)


@pytest.mark.parametrize("plant", [_nothing, _epsilon, _tanh, _rounded, _unloaded, _stride])
def test_an_opaque_backend_is_searched_module_by_module(plant: Callable[[Any], str]) -> None:
    torch.manual_seed(3)
    model = Small().eval()
    other = copy.deepcopy(model)
    wanted = plant(other)

    found = compare(model, opaque(model, other))

    assert [culprit.module for culprit in found.culprits] == ([wanted] if wanted else [])
    assert found.verdict == (FAILED if wanted else PASSED)
    assert [row.layer for row in found.layers if row.verdict == "culprit"] == ([wanted] if wanted else [])


def test_another_device_is_a_copy_of_the_model_and_its_inputs_there() -> None:
    """The way to a GPU, walked to the CPU: nothing in it knows which device it is."""
    torch.manual_seed(3)

    found = compare(Small().eval(), converted(device="cpu"))

    assert (found.verdict, found.metric) == (PASSED, 0.0)


def test_rounding_on_another_device_is_no_error_of_the_model() -> None:
    def prepare(bench: Bench) -> Prepared:
        coarse = Small().eval()
        coarse.load_state_dict(bench.model.state_dict())
        return Prepared(lambda args, kwargs: coarse(args[0] * (1 + 1e-4)), Graphs(), device="cpu")

    found = compare(Small().eval(), prepare)

    assert (found.verdict, found.cause) == (PASSED, "reduction order")
    assert found.metric is not None and found.metric > 1e-5


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ("torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False", "reduction order"),
        ("torch.backends.cudnn.allow_tf32 = True", "TF32"),
        (
            "torch.backends.cudnn.conv.fp32_precision = torch.backends.cudnn.rnn.fp32_precision = 'ieee'",
            "reduction order",
        ),
        ("torch.backends.cuda.matmul.fp32_precision = 'tf32'", "TF32"),
    ],
)
def test_tensor_cores_are_named_by_the_old_switches_and_by_the_new(setting: str, expected: str) -> None:
    """In a process of its own: torch does not take both kinds of switch in one, nor back."""
    text = f"""
import torch
from modellint.runtime.probes.double import cause_of_rounding
from types import SimpleNamespace
{setting}
print(cause_of_rounding(SimpleNamespace(model=torch.nn.Linear(1, 1)), "cuda"))
"""
    found = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, cwd=ROOT)

    assert (found.stdout.strip(), found.stderr) == (expected, "")


def test_a_gpu_that_is_not_there_is_skipped_and_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)

    found = compare(Small().eval(), BACKENDS["cuda"])

    assert (found.verdict, found.reason) == (SKIPPED, "there is no GPU")


def test_a_backend_that_stops_is_skipped_with_its_reason_in_one_line() -> None:
    def prepare(bench: Bench) -> Prepared:
        raise RuntimeError("\x1b[96mstep 1/3\x1b[0m fails\n  and much more")

    found = compare(Small().eval(), prepare)

    assert (found.verdict, found.reason) == (SKIPPED, "it does not take the model: RuntimeError: step 1/3 fails")


def test_a_backend_that_was_never_called_proves_nothing() -> None:
    def prepare(bench: Bench) -> Prepared:
        return Prepared(lambda args, kwargs: bench.model(*args, **kwargs), Graphs(), calls=lambda: 0)

    assert compare(Small().eval(), prepare).verdict == SKIPPED


def test_a_difference_between_modules_blames_none_of_them() -> None:
    torch.manual_seed(3)
    model = Small().eval()
    other = copy.deepcopy(model)
    other.forward = lambda x: Small.forward(other, x) + 1  # type: ignore[method-assign]

    found = compare(model, opaque(model, other))

    assert (found.verdict, found.culprits) == (FAILED, ())
    assert {row.verdict for row in found.layers} == {"agrees"}


def _other_epsilon(node: Any) -> str:
    if node.target is torch.nn.functional.layer_norm:
        node.args = (*node.args[:4], 1e-1)
        return "norm"
    return ""


def _other_gelu(node: Any) -> str:
    if node.target is torch._C._nn.gelu:
        node.kwargs = {"approximate": "tanh"}
        return "act"
    return ""


def _other_stride(node: Any) -> str:
    if node.target is torch.conv1d:
        node.args = (*node.args[:3], (2,), *node.args[4:])
        return "stem"
    return ""


@pytest.mark.parametrize("plant", [_other_epsilon, _other_gelu, _other_stride])
def test_a_compiler_that_rewrites_its_graph_is_found_at_the_operation(plant: Callable[[Any], str]) -> None:
    import torch._dynamo

    changed: list[str] = []

    def rewrite(graph: Any, inputs: Any) -> Any:
        for node in graph.graph.nodes:
            if not changed and (name := plant(node)):
                changed.append(name)
        graph.recompile()
        return graph.forward

    torch._dynamo.register_backend(rewrite, name=f"planted{plant.__name__}")
    torch.manual_seed(3)
    model = Small().eval()

    found = compare(model, compiled(f"planted{plant.__name__}"))

    assert found.verdict == FAILED, found
    assert [culprit.module.split(".")[-1] for culprit in found.culprits] == changed
    assert all(culprit.site is not None for culprit in found.culprits)
