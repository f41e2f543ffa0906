"""Errors planted in backends of published architectures: each found in the module in which it stands, and no other."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

from modellint.runtime.capture.ladder import MODES  # noqa: E402
from modellint.runtime.capture.sites import SiteTable  # noqa: E402
from modellint.runtime.capture.subject import Subject  # noqa: E402
from modellint.runtime.probes.backends import compare_backend  # noqa: E402
from modellint.runtime.probes.bench import Bench  # noqa: E402
from modellint.runtime.probes.compare import difference  # noqa: E402
from modellint.runtime.probes.result import FAILED, PASSED  # noqa: E402
from tests.runtime.probes.test_backends import opaque  # noqa: E402

pytestmark = [pytest.mark.torch, pytest.mark.slow]
try:
    import tests.runtime.zoo_libraries  # noqa: F401
except ImportError as error:
    pytest.skip(f"{error}: install the dependency group zoo", allow_module_level=True)
import timm  # noqa: E402

from tests.runtime.zoo_transformers import small  # noqa: E402

IMAGES = ("test_resnet", "test_vit", "test_convnext", "test_efficientnet", "test_nfnet", "test_mambaout")
TEXTS = ("bert", "gpt2", "llama", "t5")
SEED = 20261122
LIMIT = 1e-5


def _made(name: str) -> tuple[nn.Module, tuple[Any, ...], dict[str, Any]]:
    torch.manual_seed(SEED)
    if name in IMAGES:
        model = timm.create_model(name, pretrained=False).eval()
        return model, (torch.randn(2, 3, 64, 64) if "vit" not in name else torch.randn(2, 3, 160, 160),), {}
    ids = torch.randint(3, 100, (2, 9))
    inputs = {"input_ids": ids, "decoder_input_ids": ids} if name == "t5" else {"input_ids": ids}
    return small(name).eval(), (), inputs | ({} if name == "t5" else {"use_cache": False})


def _epsilons(model: nn.Module) -> Iterator[tuple[str, Callable[[], None]]]:
    for path, module in model.named_modules():
        for name in ("eps", "variance_epsilon"):
            if isinstance(getattr(module, name, None), float) and not isinstance(module, nn.Conv2d):
                yield path, lambda module=module, name=name: setattr(module, name, 1e-1)


def _tanhs(model: nn.Module) -> Iterator[tuple[str, Callable[[], None]]]:
    for path, module in model.named_modules():
        if isinstance(module, nn.GELU) or type(module).__name__ == "GELUActivation":
            other = nn.GELU(approximate="tanh")
            yield path, lambda module=module, other=other: setattr(module, "forward", other.forward)


def _weights(model: nn.Module) -> Iterator[tuple[str, nn.Module]]:
    for path, module in model.named_modules():
        if isinstance(getattr(module, "weight", None), nn.Parameter) and module.weight.dim() > 1:
            yield path, module


def _rounded(model: nn.Module) -> Iterator[tuple[str, Callable[[], None]]]:
    for path, module in _weights(model):
        yield path, lambda weight=module.weight: weight.data.copy_(weight.data.bfloat16())


def _unloaded(model: nn.Module) -> Iterator[tuple[str, Callable[[], None]]]:
    for path, module in _weights(model):
        yield path, lambda weight=module.weight: nn.init.normal_(weight, std=float(weight.std()) or 0.02)


def _strides(model: nn.Module) -> Iterator[tuple[str, Callable[[], None]]]:
    for path, module in model.named_modules():
        if isinstance(module, nn.Conv2d) and module.stride == (1, 1) and module.kernel_size == (3, 3):
            yield path, lambda module=module: setattr(module, "stride", (2, 2))


PLANTS = {"epsilon": _epsilons, "tanh": _tanhs, "rounded": _rounded, "unloaded": _unloaded, "stride": _strides}


@pytest.mark.parametrize("name", IMAGES + TEXTS)
def test_a_backend_without_an_error_passes(name: str) -> None:
    model, args, kwargs = _made(name)

    assert _compare(model, copy.deepcopy(model), args, kwargs).verdict == PASSED


@pytest.mark.parametrize("plant", PLANTS)
@pytest.mark.parametrize("name", IMAGES + TEXTS)
def test_a_planted_error_is_found_in_its_module(name: str, plant: str) -> None:
    model, args, kwargs = _made(name)
    if not (places := [path for path, _ in PLANTS[plant](model)]):
        pytest.skip("nothing of the kind in this architecture")
    wanted = random.Random(f"{SEED}{name}{plant}").choice(places)
    other = copy.deepcopy(model)
    next(change for path, change in PLANTS[plant](other) if path == wanted)()

    found = _compare(model, other, args, kwargs)

    with torch.inference_mode():
        try:
            apart = difference(model(*args, **kwargs), other(*args, **kwargs)).relative
        except RuntimeError:  # a backend that stops has nothing to be compared
            assert found.verdict not in (FAILED, PASSED)
            return
    assert found.verdict == (FAILED if apart > LIMIT else PASSED), (wanted, apart)
    assert [culprit.module for culprit in found.culprits] == ([wanted] if apart > LIMIT else []), apart


def _compare(model: nn.Module, other: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    subject = Subject(model, model, args, kwargs, SiteTable((Path(__file__).parents[3],)), {})
    return compare_backend(Bench(subject, MODES["inference_mode"]), name="planted", prepare=opaque(model, other))
