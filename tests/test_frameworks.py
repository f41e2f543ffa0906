"""The libraries' facts under rules/frameworks: what they must not match, what they say, and why we know."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from modellint.catalog import load_frameworks
from modellint.static.knowledge import Knowledge

FILES = sorted((Path(__file__).resolve().parent.parent / "rules" / "frameworks").glob("*.yaml"))


@pytest.fixture(scope="module")
def knowledge() -> Knowledge:
    return Knowledge(load_frameworks())


@pytest.mark.parametrize(
    "call",
    [
        "transformers.AutoTokenizer.from_pretrained",
        "transformers.AutoConfig.from_pretrained",
        "transformers.AutoProcessor.from_pretrained",
        "transformers.AutoImageProcessor.from_pretrained",
        "transformers.AutoFeatureExtractor.from_pretrained",
        "transformers.GenerationConfig.from_pretrained",
        "transformers.TFBertModel.from_pretrained",
        "transformers.TFAutoModelForSequenceClassification.from_pretrained",
        "transformers.FlaxBertModel.from_pretrained",
        "transformers.FlaxAutoModelForCausalLM.from_pretrained",
        "diffusers.DDPMScheduler.from_pretrained",
        "peft.LoraConfig.from_pretrained",
        "timm.list_models",
        "timm.data.create_transform",
        "open_clip.get_tokenizer",
        "clip.tokenize",
        "torchaudio.pipelines.WAV2VEC2_BASE.get_labels",
        "whisper.load_audio",
    ],
)
def test_what_is_no_torch_model_is_not_taken_for_one(knowledge: Knowledge, call: str) -> None:
    assert knowledge.loaders.get(call) is None


@pytest.mark.parametrize(
    "name",
    [
        "transformers.DataCollatorForTokenClassification",
        "transformers.DataCollatorForLanguageModeling",
        "transformers.TFBertModel",
        "transformers.FlaxBertForSequenceClassification",
        "transformers.Trainer",
        "torchmetrics.Accuracy",
        "lightning.Trainer",
        "lightning.LightningDataModule",
    ],
)
def test_what_is_no_torch_module_is_not_taken_for_one(knowledge: Knowledge, name: str) -> None:
    assert knowledge.module_bases.get(name) is None


@pytest.mark.parametrize(
    "call",
    [
        "transformers.AutoModel.from_pretrained",
        "transformers.AutoModelForCausalLM.from_pretrained",
        "transformers.BertForSequenceClassification.from_pretrained",
        "transformers.T5ForConditionalGeneration.from_pretrained",
        "transformers.TrOCRForCausalLM.from_pretrained",
        "transformers.FlavaModel.from_pretrained",
        "transformers.DistilBertModel.from_pretrained",
        "transformers.GPT2LMHeadModel.from_pretrained",
        "transformers.models.bert.modeling_bert.BertModel.from_pretrained",
        "diffusers.UNet2DConditionModel.from_pretrained",
        "diffusers.AutoencoderKL.from_pretrained",
        "peft.PeftModel.from_pretrained",
        "peft.AutoPeftModelForCausalLM.from_pretrained",
        "clip.load",
        "segment_anything.build_sam_vit_h",
        "mmdet.apis.init_detector",
        "torchaudio.pipelines.WAV2VEC2_ASR_BASE_960H.get_model",
    ],
)
def test_loaders_that_return_evaluation_mode(knowledge: Knowledge, call: str) -> None:
    loader = knowledge.loaders.get(call)
    assert loader is not None
    assert loader.effect.mode == "eval"


@pytest.mark.parametrize(
    "call",
    [
        "timm.create_model",
        "torchvision.models.resnet18",
        "torchvision.models.get_model",
        "open_clip.create_model",
        "open_clip.create_model_and_transforms",
        "open_clip.create_model_from_pretrained",
        "transformers.AutoModel.from_config",
        "transformers.AutoModelForCausalLM.from_config",
        "diffusers.UNet2DModel.from_config",
        "project.models.Net.load_from_checkpoint",
        "whisper.load_model",
    ],
)
def test_loaders_that_return_training_mode(knowledge: Knowledge, call: str) -> None:
    loader = knowledge.loaders.get(call)
    assert loader is not None
    assert loader.effect.mode == "train"


@pytest.mark.parametrize(
    ("name", "origin", "mode"),
    [
        ("generate", "transformers.AutoModelForCausalLM.from_pretrained", "same"),
        ("generate", "peft.PeftModel.from_pretrained", "same"),
        ("encode", "sentence_transformers.SentenceTransformer", "eval"),
        ("predict", "sentence_transformers.CrossEncoder", "eval"),
    ],
)
def test_methods_that_switch_gradients_off_by_themselves(
    knowledge: Knowledge, name: str, origin: str, mode: str
) -> None:
    method = knowledge.method(knowledge.entry_points, [origin], name)
    assert method is not None
    assert (method.effect.runs, method.effect.grad, method.effect.mode) == ("inference", "off", mode)


def test_encode_image_is_a_forward_that_records(knowledge: Knowledge) -> None:
    for origin in ("clip.load", "open_clip.create_model_and_transforms"):
        method = knowledge.method(knowledge.entry_points, [origin], "encode_image")
        assert method is not None
        assert (method.effect.runs, method.effect.grad) == ("inference", "same")


@pytest.mark.parametrize("base", ["lightning.LightningModule", "pytorch_lightning.LightningModule"])
def test_lightning_calls_its_hooks_with_mode_and_gradients_set(knowledge: Knowledge, base: str) -> None:
    training = knowledge.hook(base, "training_step")
    assert training is not None
    assert (training.mode, training.grad) == ("train", "on")
    for method in ("validation_step", "test_step", "predict_step"):
        hook = knowledge.hook(base, method)
        assert hook is not None
        assert (hook.mode, hook.grad) == ("eval", "off")
    assert knowledge.hook(base, "forward") is None


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_fact_names_its_evidence(path: Path) -> None:
    data = yaml.safe_load(path.read_text("utf-8"))
    kinds = ("loaders", "wrappers", "entry-points", "runners", "contexts", "hooks")
    assert not [fact for kind in kinds for fact in data.get(kind, ()) if not fact.get("evidence")]
