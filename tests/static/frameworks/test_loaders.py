"""Models from libraries: the mode that they come in, by loader, argument and place in a tuple."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint

SILENT = {
    "transformers from_pretrained is in eval": """
        import torch
        from transformers import AutoModelForSequenceClassification

        def classify(batch):
            model = AutoModelForSequenceClassification.from_pretrained("distilbert-base-uncased")
            with torch.no_grad():
                return model(**batch).logits.argmax(-1)
    """,
    "so is from_pretrained of a subclass in the project": """
        import torch
        from torch import nn
        from transformers import BertPreTrainedModel, BertModel

        class Tagger(BertPreTrainedModel):
            def __init__(self, config):
                super().__init__(config)
                self.bert = BertModel(config)
                self.dropout = nn.Dropout(0.1)
                self.head = nn.Linear(768, 9)

            def forward(self, ids):
                return self.head(self.dropout(self.bert(ids)[0]))

        def predict(ids):
            model = Tagger.from_pretrained("checkpoint")
            with torch.no_grad():
                return model(ids).argmax(-1)
    """,
    "and of a class with the hub's mixin": """
        import torch
        from torch import nn
        from huggingface_hub import PyTorchModelHubMixin

        class Net(nn.Module, PyTorchModelHubMixin):
            def __init__(self):
                super().__init__()
                self.body = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5))

            def forward(self, x):
                return self.body(x)

        def predict(x):
            model = Net.from_pretrained("someone/net")
            with torch.no_grad():
                return model(x).argmax(-1)
    """,
    "also where the subclass overrides it and asks super()": """
        import torch
        from torch import nn
        from transformers import PreTrainedModel

        class Net(PreTrainedModel):
            def __init__(self, config):
                super().__init__(config)
                self.drop = nn.Dropout(0.1)

            @classmethod
            def from_pretrained(cls, name, **kwargs):
                model = super().from_pretrained(name, **kwargs)
                return model

            def forward(self, x):
                return self.drop(x)

        def predict(x):
            model = Net.from_pretrained("checkpoint")
            with torch.no_grad():
                return model(x).argmax(-1)
    """,
    "diffusers components": """
        import torch
        from diffusers import AutoencoderKL, UNet2DConditionModel

        @torch.no_grad()
        def predict(latents, t, context):
            unet = UNet2DConditionModel.from_pretrained("a/b", subfolder="unet")
            vae = AutoencoderKL.from_pretrained("a/b", subfolder="vae")
            noise = unet(latents, t, context).sample
            return vae.decode(latents - noise).sample.numpy()
    """,
    "clip.load": """
        import clip
        import torch

        def scores(image, texts):
            model, preprocess = clip.load("ViT-B/32")
            with torch.no_grad():
                a = model.encode_image(preprocess(image).unsqueeze(0))
                b = model.encode_text(clip.tokenize(texts))
            return (a @ b.T).softmax(-1).tolist()
    """,
    "a quantised torchvision model": """
        import torch
        from torchvision.models.quantization import resnet18

        def predict(x):
            model = resnet18(weights="DEFAULT", quantize=True)
            with torch.no_grad():
                return model(x).argmax(-1)
    """,
    "a torchaudio bundle": """
        import torch
        import torchaudio

        def transcribe(wave):
            bundle = torchaudio.pipelines.WAV2VEC2_ASR_BASE_960H
            model = bundle.get_model()
            with torch.inference_mode():
                emission, _ = model(wave)
            return emission.argmax(-1)
    """,
    "build_sam": """
        import torch
        from segment_anything import build_sam_vit_h

        def predict(batch):
            sam = build_sam_vit_h(checkpoint="sam.pth")
            with torch.no_grad():
                return sam(batch, multimask_output=False)[0]["masks"].numpy()
    """,
    "sam2 for inference, its default": """
        import torch
        from sam2.build_sam import build_sam2

        def predict(batch):
            model = build_sam2("cfg.yaml", "sam2.pt")
            with torch.no_grad():
                return model(batch).argmax(-1)
    """,
    "an adapter for inference": """
        import torch
        from peft import PeftModel
        from transformers import AutoModelForCausalLM

        def predict(batch):
            base = AutoModelForCausalLM.from_pretrained("gpt2")
            model = PeftModel.from_pretrained(base, "adapter")
            with torch.no_grad():
                return model(**batch).logits.argmax(-1)
    """,
    "an adapter merged into its base": """
        import torch
        from peft import AutoPeftModelForCausalLM

        def predict(batch):
            model = AutoPeftModelForCausalLM.from_pretrained("adapter").merge_and_unload()
            with torch.no_grad():
                return model(**batch).logits.argmax(-1)
    """,
    "a frozen speechbrain interface": """
        from speechbrain.inference.ASR import EncoderDecoderASR

        def transcribe(path):
            asr = EncoderDecoderASR.from_hparams(source="speechbrain/asr", savedir="tmp")
            return asr.transcribe_file(path)
    """,
    "which records nothing without no_grad, as its parameters require no gradients": """
        from speechbrain.inference.separation import SepformerSeparation

        def separate(mixtures):
            model = SepformerSeparation.from_hparams(source="speechbrain/sepformer-wsj02mix")
            for mixture in mixtures:
                print(model(mixture).detach().cpu().numpy())
    """,
    "yolov5 from the hub shapes itself for inference": """
        import torch

        def detect(image):
            model = torch.hub.load("ultralytics/yolov5", "yolov5s")
            with torch.no_grad():
                return model(image).xyxy[0].tolist()
    """,
    "a hub entry of which nothing is known": """
        import torch

        def embed(image):
            model = torch.hub.load("someone/repo", "net", pretrained=True)
            with torch.no_grad():
                return model(image).numpy()
    """,
    "lpips puts itself into eval": """
        import lpips
        import torch

        def evaluate(a, b):
            distance = lpips.LPIPS(net="alex")
            with torch.no_grad():
                return distance(a, b).item()
    """,
    "kornia's pretrained descriptors": """
        import torch
        import kornia.feature as KF

        def describe(patches):
            net = KF.HardNet(pretrained=True)
            with torch.no_grad():
                return net(patches).numpy()
    """,
    "OpenMMLab's init_detector": """
        from mmdet.apis import inference_detector, init_detector

        def detect(image):
            model = init_detector("config.py", "weights.pth")
            return inference_detector(model, image)
    """,
    "a detector of OpenMMLab's registry that is switched": """
        import torch
        from mmcv.parallel import MMDataParallel
        from mmdet.models import build_detector

        def detect(cfg, images):
            model = MMDataParallel(build_detector(cfg.model))
            model.eval()
            with torch.no_grad():
                return [model(return_loss=False, img=image).cpu().numpy() for image in images]
    """,
    "a loss of OpenMMLab's registry": """
        import torch
        from mmseg.models import build_loss

        def measure(cfg, logits, target):
            with torch.no_grad():
                return build_loss(cfg.loss)(logits, target).item()
    """,
    "segmentation_models_pytorch from the hub": """
        import torch
        import segmentation_models_pytorch as smp

        def segment(x):
            model = smp.from_pretrained("smp-hub/unet")
            with torch.no_grad():
                return model(x).argmax(1)
    """,
    "flair": """
        from flair.data import Sentence
        from flair.models import SequenceTagger

        def tag(text):
            tagger = SequenceTagger.load("ner")
            sentence = Sentence(text)
            tagger.predict(sentence)
            return sentence.get_spans("ner")
    """,
    "whisper has nothing that depends on the mode": """
        import whisper

        def transcribe(path):
            model = whisper.load_model("base")
            return model.transcribe(path)["text"]
    """,
    "TensorFlow and Flax classes are none of ours": """
        from transformers import FlaxBertModel, TFAutoModel

        def predict(batch):
            model = TFAutoModel.from_pretrained("bert")
            other = FlaxBertModel.from_pretrained("bert")
            return model(batch)[0].numpy().argmax(-1), other(batch)[0].argmax(-1)
    """,
    "tokenizers and processors are no models": """
        from transformers import AutoProcessor, AutoTokenizer

        def evaluate(text):
            encoder = AutoTokenizer.from_pretrained("bert")
            model = AutoProcessor.from_pretrained("clip")
            return encoder(text), model(text)
    """,
    "a loader that freezes what it loads": """
        from dreamsim import dreamsim
        from pytorch_fid.inception import InceptionV3

        def distance(a, b):
            net, preprocess = dreamsim(pretrained=True)
            return net(preprocess(a), preprocess(b)).item()

        def features(x):
            net = InceptionV3([3]).eval()
            return net(x)[0].cpu().numpy()
    """,
    "lavis is asked for evaluation mode": """
        import torch
        from lavis.models import load_model_and_preprocess

        def match(image):
            model, vis, text = load_model_and_preprocess("blip_itm", "base", is_eval=True)
            with torch.no_grad():
                return model(image).argmax(-1)
    """,
}

FOUND = {
    "OpenMMLab's registries return training mode": """
        import torch
        from mmcv.parallel import MMDataParallel
        from mmcv.runner import load_checkpoint
        from mmdet.models import build_detector

        def detect(cfg, path, images):
            model = build_detector(cfg.model)
            load_checkpoint(model, path)
            model = MMDataParallel(model)
            with torch.no_grad():
                return [model(return_loss=False, img=image).cpu().numpy() for image in images]  # ML101
    """,
    "timm returns training mode": """
        import timm
        import torch

        def predict(x):
            model = timm.create_model("resnet50", pretrained=True)
            with torch.no_grad():
                return model(x).argmax(-1)  # ML101
    """,
    "its features too": """
        import timm
        import torch

        def embed(x):
            model = timm.create_model("vit_base_patch16_224", pretrained=True, num_classes=0)
            with torch.no_grad():
                return model.forward_features(x).numpy()  # ML101
    """,
    "torchvision, by its function": """
        import torch
        from torchvision.models import ResNet50_Weights, resnet50

        def predict(x):
            model = resnet50(weights=ResNet50_Weights.DEFAULT)
            with torch.no_grad():
                return model(x).argmax(-1)  # ML101
    """,
    "torchvision, detection": """
        import torch
        import torchvision

        def detect(images):
            model = torchvision.models.detection.fasterrcnn_resnet50_fpn(pretrained=True)
            with torch.no_grad():
                return model(images)[0]["boxes"].tolist()  # ML101
    """,
    "torchvision, by name": """
        import torch
        import torchvision

        def predict(x):
            model = torchvision.models.get_model("resnet50", weights="DEFAULT")
            with torch.no_grad():
                return model(x).argmax(-1)  # ML101
    """,
    "the hub's torchvision": """
        import torch

        def predict(x):
            model = torch.hub.load("pytorch/vision:v0.10.0", "resnet18", pretrained=True)
            with torch.no_grad():
                return model(x).argmax(-1)  # ML101
    """,
    "open_clip, all three factories": """
        import open_clip
        import torch

        def one(x):
            model = open_clip.create_model("ViT-B-32", pretrained="openai")
            with torch.no_grad():
                return model.encode_image(x).numpy()  # ML101

        def two(x):
            model, _, preprocess = open_clip.create_model_and_transforms("ViT-B-32", pretrained="openai")
            with torch.no_grad():
                return model.encode_image(preprocess(x)).numpy()  # ML101

        def three(x):
            model, preprocess = open_clip.create_model_from_pretrained("hf-hub:a/b")
            with torch.no_grad():
                return model.encode_image(preprocess(x)).numpy()  # ML101

        def four(x):
            model = open_clip.create_model_from_pretrained("hf-hub:a/b", return_transform=False)
            with torch.no_grad():
                return model.encode_image(x).numpy()  # ML101
    """,
    "transformers from_config, then weights": """
        import torch
        from transformers import AutoConfig, AutoModelForCausalLM

        def predict(batch):
            model = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained("gpt2"))
            model.load_state_dict(torch.load("gpt2.pt", weights_only=True))
            with torch.no_grad():
                return model(**batch).logits.argmax(-1)  # ML101
    """,
    "a transformers class built directly": """
        import torch
        from transformers import BertConfig, BertForSequenceClassification

        def predict(batch):
            model = BertForSequenceClassification(BertConfig())
            model.load_state_dict(torch.load("bert.pt", weights_only=True))
            with torch.no_grad():
                return model(**batch).logits.argmax(-1)  # ML101
    """,
    "Lightning's checkpoint": """
        import torch
        from project.module import LitNet

        def predict(x):
            model = LitNet.load_from_checkpoint("best.ckpt")
            with torch.no_grad():
                return model(x).argmax(-1)  # ML101
    """,
    "efficientnet_pytorch calls its loader from_pretrained too": """
        import torch
        from efficientnet_pytorch import EfficientNet

        def predict(x):
            model = EfficientNet.from_pretrained("efficientnet-b0")
            with torch.no_grad():
                return model(x).argmax(-1)  # ML101
    """,
    "facenet": """
        import torch
        from facenet_pytorch import InceptionResnetV1

        def embed(faces):
            resnet = InceptionResnetV1(pretrained="vggface2")
            with torch.no_grad():
                return resnet(faces).numpy()  # ML101
    """,
    "pretrainedmodels": """
        import pretrainedmodels
        import torch

        def predict(x):
            model = pretrainedmodels.se_resnext50_32x4d(num_classes=1000, pretrained="imagenet")
            with torch.no_grad():
                return model(x).argmax(-1)  # ML101
    """,
    "fairseq's hub": """
        import torch
        from fairseq.models.roberta import RobertaModel

        def predict(tokens):
            roberta = RobertaModel.from_pretrained("/checkpoints", "model.pt")
            with torch.no_grad():
                return roberta.predict("head", tokens).argmax(-1)  # ML101
    """,
    "detectron2, weights loaded by the checkpointer": """
        import torch
        from detectron2.checkpoint import DetectionCheckpointer
        from detectron2.modeling import build_model

        def predict(cfg, inputs):
            model = build_model(cfg)
            DetectionCheckpointer(model).load(cfg.MODEL.WEIGHTS)
            with torch.no_grad():
                return model(inputs)[0]["instances"].to("cpu").numpy()  # ML101
    """,
    "weights loaded in place by OpenMMLab": """
        import torch
        from mmengine.runner import load_checkpoint
        from torchvision.models import resnet18

        def predict(x):
            model = resnet18()
            load_checkpoint(model, "weights.pth")
            with torch.no_grad():
                return model(x).argmax(-1)  # ML101
    """,
    "a speechbrain interface that is not frozen": """
        import torch
        from speechbrain.inference.classifiers import EncoderClassifier

        def classify(wave):
            model = EncoderClassifier.from_hparams(source="a/b", freeze_params=False)
            with torch.no_grad():
                return model(wave)[0].argmax(-1)  # ML101
    """,
    "whose parameters require gradients then": """
        from speechbrain.inference.separation import SepformerSeparation

        def separate(mixtures):
            model = SepformerSeparation.from_hparams(source="a/b", freeze_params=False).eval()
            for mixture in mixtures:
                print(model(mixture).detach().cpu().numpy())  # ML201
    """,
    "sam2 for training": """
        import torch
        from sam2.build_sam import build_sam2

        def predict(batch):
            model = build_sam2("cfg.yaml", "sam2.pt", mode="train")
            with torch.no_grad():
                return model(batch).argmax(-1)  # ML101
    """,
    "evaluation mode does not stop autograd": """
        from transformers import AutoModelForSequenceClassification

        def predict(batch):
            model = AutoModelForSequenceClassification.from_pretrained("distilbert")
            return model(**batch).logits.argmax(-1)  # ML201
    """,
    "nor does clip.load": """
        import clip

        def predict(image):
            model, preprocess = clip.load("ViT-B/32")
            return model.encode_image(preprocess(image)).argmax(-1)  # ML201
    """,
    "what depends on no mode records autograd all the same": """
        import esm

        def predict(tokens):
            model, alphabet = esm.pretrained.esm2_t33_650M_UR50D()
            model.eval()
            return model(tokens)["logits"].argmax(-1)  # ML201
    """,
    "esm2 has no dropout left": """
        import esm
        import torch

        def predict(tokens):
            model, alphabet = esm.pretrained.esm2_t33_650M_UR50D()
            with torch.no_grad():
                return model(tokens)["logits"].argmax(-1)  # ML101:info
    """,
    "the MSA transformer has dropout": """
        import esm
        import torch

        def predict(tokens):
            model, alphabet = esm.pretrained.esm_msa1b_t12_100M_UR50S()
            with torch.no_grad():
                return model(tokens)["logits"].argmax(-1)  # ML101
    """,
    "what is frozen has batch norms all the same": """
        from pytorch_fid.inception import InceptionV3

        def features(x):
            net = InceptionV3([3])
            return net(x)[0].cpu().numpy()  # ML101
    """,
    "what is frozen unless it is asked to learn": """
        from pytorch_fid.inception import InceptionV3

        def features(x):
            net = InceptionV3([3], requires_grad=True).eval()
            return net(x)[0].cpu().numpy()  # ML201
    """,
    "lavis is not asked for evaluation mode": """
        import torch
        from lavis.models import load_model_and_preprocess

        def match(image):
            model, vis, text = load_model_and_preprocess("blip_itm", "base")
            with torch.no_grad():
                return model(image).argmax(-1)  # ML101
    """,
    "facexlib calls eval(), which leaves autograd on": """
        from facexlib.parsing import init_parsing_model

        def parse(x):
            net = init_parsing_model("bisenet")
            return net(x)[0].argmax(1).cpu().numpy()  # ML201
    """,
}


@pytest.mark.parametrize("text", SILENT.values(), ids=SILENT)
def test_right(lint: Lint, text: str) -> None:
    lint(text, rules=["ML101", "ML103", "ML201", "ML202"])


@pytest.mark.parametrize("text", FOUND.values(), ids=FOUND)
def test_wrong(lint: Lint, text: str) -> None:
    lint(text, rules=["ML101", "ML103", "ML201", "ML202"])
