"""Calls that run a model: which of them care for mode and gradients, and what they leave behind."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint

RULES = ["ML101", "ML103", "ML201", "ML202"]

SILENT = {
    "pipelines of transformers, under any name": """
        from transformers import pipeline

        def predict(texts):
            classifier = pipeline("sentiment-analysis")
            generator = pipeline("text-generation", model="gpt2")
            return classifier(texts)[0]["label"], generator(texts)[0]["generated_text"]
    """,
    "a pipeline around a model from from_pretrained": """
        from transformers import AutoModelForCausalLM, AutoTokenizer, pipeline

        def predict(text):
            tokenizer = AutoTokenizer.from_pretrained("gpt2")
            model = AutoModelForCausalLM.from_pretrained("gpt2")
            generator = pipeline("text-generation", model=model, tokenizer=tokenizer)
            print(generator(text)[0]["generated_text"])
    """,
    "generate() on a pretrained model": """
        from transformers import AutoModelForCausalLM, AutoTokenizer

        def answer(text):
            tokenizer = AutoTokenizer.from_pretrained("gpt2")
            model = AutoModelForCausalLM.from_pretrained("gpt2").to("cuda")
            out = model.generate(**tokenizer(text, return_tensors="pt"), max_new_tokens=20)
            return tokenizer.decode(out[0].tolist())
    """,
    "generate() of a fine-tuned adapter": """
        from peft import PeftModel
        from transformers import AutoModelForCausalLM

        def answer(ids):
            base = AutoModelForCausalLM.from_pretrained("gpt2")
            model = PeftModel.from_pretrained(base, "adapter")
            return model.generate(input_ids=ids)[0].tolist()
    """,
    "diffusers pipelines": """
        import torch
        from diffusers import StableDiffusionPipeline

        def sample(prompt):
            pipe = StableDiffusionPipeline.from_pretrained("a/b", torch_dtype=torch.float16).to("cuda")
            pipe.enable_attention_slicing()
            image = pipe(prompt).images[0]
            image.save("out.png")
    """,
    "a diffusers pipeline called model": """
        from diffusers import DDPMPipeline

        def generate():
            model = DDPMPipeline.from_pretrained("google/ddpm-cat-256")
            model = model.to("cuda")
            model().images[0].save("cat.png")
    """,
    "sentence embeddings": """
        from sentence_transformers import CrossEncoder, SentenceTransformer

        def rank(query, texts):
            model = SentenceTransformer("all-MiniLM-L6-v2")
            reranker = CrossEncoder("cross-encoder/ms-marco")
            scores = model.encode([query]) @ model.encode(texts).T
            return scores.argmax(-1), reranker.predict([(query, t) for t in texts]).tolist()
    """,
    "Lightning's trainer": """
        import lightning as L
        from project.module import LitNet

        def evaluate(data):
            model = LitNet.load_from_checkpoint("best.ckpt")
            trainer = L.Trainer()
            trainer.validate(model, data)
            trainer.test(model, data)
            return trainer.predict(model, data)[0].argmax(-1)
    """,
    "Lightning under its old name, with the model by keyword": """
        import pytorch_lightning as pl
        from project.module import LitNet

        def predict(data):
            model = LitNet.load_from_checkpoint("best.ckpt")
            predictions = pl.Trainer(accelerator="gpu").predict(model=model, dataloaders=data)
            return predictions[0].argmax(-1)
    """,
    "the trainer of transformers": """
        from transformers import AutoModelForSequenceClassification, Trainer, TrainingArguments

        def main(train, test):
            model = AutoModelForSequenceClassification.from_pretrained("bert")
            trainer = Trainer(model=model, args=TrainingArguments("out"), train_dataset=train)
            trainer.train()
            print(trainer.evaluate(test))
            return trainer.predict(test).predictions.argmax(-1)
    """,
    "detectron2's predictor": """
        from detectron2.engine import DefaultPredictor

        def predict(cfg, image):
            predictor = DefaultPredictor(cfg)
            return predictor(image)["instances"].to("cpu").pred_classes.numpy()
    """,
    "detectron2's evaluation of a model in training mode": """
        from detectron2.checkpoint import DetectionCheckpointer
        from detectron2.evaluation import inference_on_dataset
        from detectron2.modeling import build_model

        def evaluate(cfg, loader, evaluator):
            model = build_model(cfg)
            DetectionCheckpointer(model).load(cfg.MODEL.WEIGHTS)
            print(inference_on_dataset(model, loader, evaluator))
    """,
    "ignite's evaluator": """
        from ignite.engine import create_supervised_evaluator
        from torchvision.models import resnet18

        def evaluate(loader, metrics):
            model = resnet18(weights="DEFAULT")
            evaluator = create_supervised_evaluator(model, metrics=metrics)
            evaluator.run(loader)
            print(evaluator.state.metrics["accuracy"])
    """,
    "SAM's predictor": """
        from segment_anything import SamPredictor, sam_model_registry

        def predict(image, points):
            sam = sam_model_registry["vit_h"](checkpoint="sam.pth")
            predictor = SamPredictor(sam)
            predictor.set_image(image)
            masks, scores, _ = predictor.predict(points)
            return masks[scores.argmax()]
    """,
    "YOLO": """
        from ultralytics import YOLO

        def detect(image):
            model = YOLO("yolov8n.pt")
            model.train(data="coco8.yaml", epochs=3)
            metrics = model.val()
            results = model(image)
            return results[0].boxes.xyxy.tolist(), model.predict(image)[0].boxes.cls.numpy()
    """,
    "fastai": """
        from fastai.vision.all import load_learner

        def predict(image):
            model = load_learner("export.pkl")
            label, _, scores = model.predict(image)
            return label, scores.tolist()
    """,
    "skorch": """
        from skorch import NeuralNetClassifier
        from project.nets import Net

        def predict(x_train, y_train, x):
            net = NeuralNetClassifier(Net, max_epochs=3)
            net.fit(x_train, y_train)
            return net.predict_proba(x).argmax(-1)
    """,
    "a policy of stable-baselines3": """
        from stable_baselines3 import PPO

        def evaluate(env):
            model = PPO.load("ppo")
            obs = env.reset()
            action, _ = model.predict(obs, deterministic=True)
            return action.tolist()
    """,
    "easyocr": """
        import easyocr

        def read(image):
            model = easyocr.Reader(["en"])
            return model.readtext(image)
    """,
    "faster-whisper is no torch module": """
        from faster_whisper import WhisperModel

        def transcribe(path):
            model = WhisperModel("base")
            segments, _ = model.transcribe(path)
            return [s.text for s in segments]
    """,
    "segmentation_models_pytorch's predict()": """
        import segmentation_models_pytorch as smp
        import torch

        def segment(x):
            model = smp.Unet("resnet34")
            model.load_state_dict(torch.load("unet.pt", weights_only=True))
            return model.predict(x).argmax(1).numpy()
    """,
    "NeMo's transcribe()": """
        import nemo.collections.asr as nemo_asr

        def transcribe(paths):
            model = nemo_asr.models.EncDecCTCModel.from_pretrained("QuartzNet15x5Base-En")
            return model.transcribe(paths)[0]
    """,
    "what accelerate prepares keeps its mode": """
        import torch
        from accelerate import Accelerator
        from transformers import AutoModelForSequenceClassification

        def evaluate(loader):
            accelerator = Accelerator()
            model = AutoModelForSequenceClassification.from_pretrained("bert")
            model, loader = accelerator.prepare(model, loader)
            for batch in loader:
                with torch.no_grad():
                    print(model(**batch).logits.argmax(-1))
    """,
    "sliding windows of a network in eval": """
        import torch
        from monai.inferers import sliding_window_inference
        from monai.networks.nets import UNet

        def evaluate(loader):
            model = UNet(spatial_dims=3, in_channels=1, out_channels=2, channels=(16, 32), strides=(2,))
            model.load_state_dict(torch.load("unet.pt", weights_only=True))
            model.eval()
            with torch.no_grad():
                for batch in loader:
                    print(sliding_window_inference(batch, (96, 96, 96), 4, model).argmax(1))
    """,
}

FOUND = {
    "generate() leaves dropout on": """
        import torch
        from transformers import AutoConfig, AutoModelForCausalLM

        def answer(ids):
            model = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained("gpt2"))
            model.load_state_dict(torch.load("gpt2.pt", weights_only=True))
            return model.generate(ids)[0].tolist()  # ML101
    """,
    "a model put back into training mode, then asked to generate": """
        import torch
        from transformers import AutoModelForCausalLM

        def sample(ids):
            model = AutoModelForCausalLM.from_pretrained("gpt2")
            model.train()
            with torch.no_grad():
                return model.generate(ids)[0].tolist()  # ML101
    """,
    "a pipeline around a model in training mode": """
        import torch
        from transformers import AutoConfig, AutoModelForCausalLM, pipeline

        def predict(text):
            model = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained("gpt2"))
            model.load_state_dict(torch.load("gpt2.pt", weights_only=True))
            generator = pipeline("text-generation", model=model)
            print(generator(text)[0]["generated_text"])  # ML101
    """,
    "SAM's predictor around a model in training mode": """
        from segment_anything import SamPredictor, build_sam_vit_h

        def predict(image, points):
            sam = build_sam_vit_h(checkpoint="sam.pth")
            sam.train()
            predictor = SamPredictor(sam)
            predictor.set_image(image)  # ML101
            return predictor.predict(points)[0].argmax()
    """,
    "sliding windows switch nothing": """
        import torch
        from monai.inferers import sliding_window_inference
        from monai.networks.nets import UNet

        def evaluate(loader):
            model = UNet(spatial_dims=3, in_channels=1, out_channels=2, channels=(16, 32), strides=(2,))
            model.load_state_dict(torch.load("unet.pt", weights_only=True))
            with torch.no_grad():
                for batch in loader:
                    print(sliding_window_inference(batch, (96, 96, 96), 4, model).argmax(1))  # ML101
    """,
    "nor do they as an object": """
        import torch
        from monai.inferers import SlidingWindowInferer
        from monai.networks.nets import UNet

        def evaluate(loader):
            model = UNet(spatial_dims=3, in_channels=1, out_channels=2, channels=(16, 32), strides=(2,))
            model.load_state_dict(torch.load("unet.pt", weights_only=True))
            inferer = SlidingWindowInferer(roi_size=(96, 96, 96))
            with torch.no_grad():
                for batch in loader:
                    print(inferer(batch, model).argmax(1))  # ML101
    """,
    "sliding windows record autograd": """
        import torch
        from monai.inferers import sliding_window_inference
        from monai.networks.nets import UNet

        def evaluate(loader):
            model = UNet(spatial_dims=3, in_channels=1, out_channels=2, channels=(16, 32), strides=(2,))
            model.load_state_dict(torch.load("unet.pt", weights_only=True))
            model.eval()
            for batch in loader:
                print(sliding_window_inference(batch, (96, 96, 96), 4, model).argmax(1))  # ML201
    """,
    "what accelerate prepares keeps its mode": """
        import timm
        import torch
        from accelerate import Accelerator

        def evaluate(loader):
            accelerator = Accelerator()
            model = timm.create_model("resnet50", pretrained=True)
            model, loader = accelerator.prepare(model, loader)
            for batch in loader:
                with torch.no_grad():
                    print(model(batch).argmax(-1))  # ML101
    """,
    "prepare() of the model alone": """
        import timm
        import torch
        from accelerate import Accelerator

        def evaluate(loader):
            accelerator = Accelerator()
            model = accelerator.prepare(timm.create_model("resnet50", pretrained=True))
            for batch in loader:
                with torch.no_grad():
                    print(model(batch).argmax(-1))  # ML101
    """,
    "a direct call after Lightning loaded the checkpoint": """
        import lightning as L
        import torch
        from project.module import LitNet

        def evaluate(data, x):
            model = LitNet.load_from_checkpoint("best.ckpt")
            L.Trainer().test(model, data)
            with torch.no_grad():
                return model(x).argmax(-1)  # ML101
    """,
}


@pytest.mark.parametrize("text", SILENT.values(), ids=SILENT)
def test_right(lint: Lint, text: str) -> None:
    lint(text, rules=RULES)


@pytest.mark.parametrize("text", FOUND.values(), ids=FOUND)
def test_wrong(lint: Lint, text: str) -> None:
    lint(text, rules=RULES)


def test_a_script_in_the_repository_of_the_library_that_it_uses(lint: Lint) -> None:
    lint(
        {
            "src/accelerate/__init__.py": "from .accelerator import Accelerator\n",
            "src/accelerate/accelerator.py": """
                class Accelerator:
                    def prepare(self, *args):
                        result = tuple(self._prepare_one(obj) for obj in args)
                        return result if len(result) > 1 else result[0]

                    def _prepare_one(self, obj):
                        return make(obj)
                """,
            "examples/nlp.py": """
                import torch
                from accelerate import Accelerator
                from torchvision.models import resnet18

                def main(loader, valid, metric):
                    accelerator = Accelerator()
                    net = resnet18()
                    optimizer = torch.optim.Adam(net.parameters())
                    net, optimizer, loader, valid = accelerator.prepare(net, optimizer, loader, valid)
                    net.eval()
                    for x, y in valid:
                        predictions = net(x).argmax(-1)  # ML201
                        metric.add_batch(predictions, y)
                """,
        },
        check=["examples/nlp.py"],
        rules=["ML201"],
    )
