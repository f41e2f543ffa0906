"""What the files say, confirmed against the libraries that are installed; small models, built offline."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path

import pytest

from modellint.catalog import load_frameworks
from modellint.static.knowledge import ABSENT, Knowledge, NameTable, settle

torch = pytest.importorskip("torch")
try:
    import tests.runtime.zoo_libraries  # noqa: F401 - a torchvision whose operators do not fit torch is made to import
except ImportError:
    pytest.skip("timm, torchvision or transformers is not installed", allow_module_level=True)
pytestmark = pytest.mark.torch


@pytest.fixture(scope="module")
def knowledge() -> Knowledge:
    return Knowledge(load_frameworks())


def effect(table: NameTable, call: str, **given: object):  # type: ignore[no-untyped-def, type-arg]
    """Return what the files say of a call with the keyword arguments `given`."""
    fact = table.get(call)
    assert fact is not None
    return settle(fact, lambda argument: next((given[n] for n in argument.names if n in given), ABSENT))


def bert():  # type: ignore[no-untyped-def]
    transformers = pytest.importorskip("transformers")
    sizes = {
        "hidden_size": 8,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 8,
        "vocab_size": 32,
    }
    return transformers.BertConfig(**sizes)


def test_timm(knowledge: Knowledge) -> None:
    timm = pytest.importorskip("timm")
    said = effect(knowledge.loaders, "timm.create_model", pretrained=False)
    assert timm.create_model("resnet10t", pretrained=False).training is (said.mode == "train")
    assert said.weights == "random"


@pytest.mark.parametrize("name", ["resnet18", "get_model", "video.r3d_18"])
def test_torchvision(knowledge: Knowledge, name: str) -> None:
    models = pytest.importorskip("torchvision.models")
    said = effect(knowledge.loaders, f"torchvision.models.{name}", weights=None)
    builder: Callable[..., torch.nn.Module] = models
    for part in name.split("."):
        builder = getattr(builder, part)
    model = builder(*(["resnet18"] if name == "get_model" else []), weights=None)
    assert model.training is (said.mode == "train")


@pytest.mark.filterwarnings("ignore")
def test_torchvision_quantised(knowledge: Knowledge) -> None:
    quantized = pytest.importorskip("torchvision.models.quantization")
    call = "torchvision.models.quantization.resnet18"
    assert quantized.resnet18(quantize=False).training is (
        effect(knowledge.loaders, call, quantize=False).mode == "train"
    )
    if "fbgemm" not in torch.backends.quantized.supported_engines:
        pytest.skip("no engine for quantised models here")
    assert quantized.resnet18(quantize=True).training is (
        effect(knowledge.loaders, call, quantize=True).mode == "train"
    )


def test_transformers(knowledge: Knowledge, tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    fresh = transformers.AutoModel.from_config(bert())
    assert fresh.training is (effect(knowledge.loaders, "transformers.AutoModel.from_config").mode == "train")
    fresh.save_pretrained(tmp_path)
    loaded = transformers.AutoModel.from_pretrained(tmp_path)
    assert loaded.training is (effect(knowledge.loaders, "transformers.AutoModel.from_pretrained").mode == "train")


def test_from_pretrained_of_a_subclass(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")

    class Own(transformers.BertModel):  # type: ignore[misc, name-defined]
        pass

    transformers.BertModel(bert()).save_pretrained(tmp_path)
    assert Own.from_pretrained(tmp_path).training is False


def test_generate_switches_gradients_off_and_leaves_the_mode(knowledge: Knowledge) -> None:
    transformers = pytest.importorskip("transformers")
    config = transformers.GPT2Config(n_embd=8, n_layer=1, n_head=2, vocab_size=32, n_positions=32)
    model = transformers.GPT2LMHeadModel(config)
    seen: list[tuple[bool, bool]] = []
    model.register_forward_hook(lambda module, *_: seen.append((module.training, torch.is_grad_enabled())))
    model.generate(torch.ones(1, 2, dtype=torch.long), max_new_tokens=1, do_sample=False, pad_token_id=0)
    said = effect(knowledge.entry_points, "transformers.GPT2LMHeadModel.generate")
    assert (said.mode, said.grad) == ("same", "off")
    assert seen == [(True, False)]


def test_the_hub_mixin(knowledge: Knowledge, tmp_path: Path) -> None:
    hub = pytest.importorskip("huggingface_hub")
    pytest.importorskip("safetensors")

    class Net(torch.nn.Linear, hub.PyTorchModelHubMixin):  # type: ignore[misc, name-defined]
        def __init__(self, size: int = 2) -> None:
            super().__init__(size, size)

    Net().save_pretrained(tmp_path)
    said = effect(knowledge.loaders, "huggingface_hub.PyTorchModelHubMixin.from_pretrained")
    assert Net.from_pretrained(tmp_path).training is (said.mode == "train")


@pytest.mark.parametrize("training", [True, False])
def test_wrappers_of_torch_keep_the_mode_of_what_they_wrap(knowledge: Knowledge, training: bool) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Dropout()).train(training)
    assert copy.deepcopy(model).training is training
    assert torch.fx.symbolic_trace(model).training is training
    for call in ("copy.deepcopy", "torch.fx.symbolic_trace"):
        assert effect(knowledge.wrappers, call).mode == "same"
    wrapped = torch.nn.DataParallel(model)
    assert wrapped.training is (effect(knowledge.wrappers, "torch.nn.DataParallel").mode == "train")
    assert wrapped.module.training is training


@pytest.mark.parametrize("mode", [ABSENT, True, False])
@pytest.mark.parametrize("name", ["inference_mode", "set_grad_enabled", "no_grad", "enable_grad"])
def test_autograd_switches(knowledge: Knowledge, name: str, mode: bool) -> None:
    takes_mode = name in ("inference_mode", "set_grad_enabled")
    if (mode is ABSENT and name == "set_grad_enabled") or (mode is not ABSENT and not takes_mode):
        pytest.skip("no such call")
    given = {} if mode is ABSENT else {"mode": mode}
    with torch.enable_grad(), getattr(torch, name)(**given):
        recorded = torch.is_grad_enabled()
    assert effect(knowledge.contexts, f"torch.{name}", **given).grad == ("on" if recorded else "off")
