"""What became transformers, and libraries of one model: the mode that they leave, and what has dropout in it."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint

RULES = ["ML101", "ML103", "ML201", "ML202"]

WRAPPED = """
        import torch
        from torch import nn
        {imports}

        class Tagger({base}):
            def __init__(self, config):
                super().__init__({given})
                self.body = {body}
                self.head = nn.Linear(768, 3)

            def forward(self, ids):
                return self.head(self.body(ids)[0])

        def predict(config, ids):
            model = Tagger(config)
            model.load_state_dict(torch.load("tagger.pt", weights_only=True))
            with torch.no_grad():
                return model(ids).argmax(-1)  # {mark}
    """

MMCV = ("mmcv.runner", "mmcv.runner.base_module")
TESTED = """
        import torch
        from {module} import BaseModule
        from torchvision.models import resnet18

        class Pose(BaseModule):
            def __init__(self):
                super().__init__()
                self.backbone = resnet18(weights="DEFAULT").eval()

            def forward_test(self, img):
                return self.backbone(img).detach().cpu().numpy()
    """

SILENT = {
    "flair loads for evaluation and predicts without gradients": """
        from flair.data import Sentence
        from flair.nn import Classifier

        def tag(text):
            tagger, sentence = Classifier.load("ner"), Sentence(text)
            tagger.predict(sentence)
            return sentence.to_tagged_string()
    """,
    "the forward of Segment Anything is without gradients": """
        from segment_anything import build_sam_vit_h, sam_model_registry

        def cut_out(images, path):
            for sam in (sam_model_registry["vit_h"](checkpoint=path), build_sam_vit_h(checkpoint=path)):
                print(sam(images, multimask_output=False)[0]["masks"].cpu().numpy())
    """,
    **{f"{module} tests models without gradients": TESTED.format(module=module) for module in MMCV},
    "NeMo's translate() switches the mode, and its tokenizers have none": """
        from nemo.collections.nlp.models.machine_translation import MTEncDecModel
        from nemo.collections.multimodal_autoregressive.tokenizer import CosmosMultiModalTokenizer

        models = {"en-de": MTEncDecModel.from_pretrained("nmt")}
        tokenizer = CosmosMultiModalTokenizer.from_pretrained("tokens")

        def predict(text):
            print(models["en-de"].translate([text]).tolist(), tokenizer(text).argmax(-1))
    """,
    "torchtext's T5 has no dropout, and who asks for random weights trains": """
        import torch
        from torchtext.models import T5_BASE_GENERATION, XLMR_BASE_ENCODER

        def summarise(ids):
            model = T5_BASE_GENERATION.get_model()
            model.eval()
            with torch.no_grad():
                return model(ids).argmax(-1)

        def fit(loader):
            model = XLMR_BASE_ENCODER.get_model(load_weights=False)
            optimizer = torch.optim.Adam(model.parameters())
            for ids, labels in loader:
                optimizer.zero_grad()
                torch.nn.functional.cross_entropy(model(ids), labels).backward()
                optimizer.step()
    """,
    "pytorch-transformers calls eval()": """
        import torch
        from pytorch_transformers import BertModel

        def embed(ids):
            model = BertModel.from_pretrained("bert-base-uncased")
            with torch.no_grad():
                return model(ids)[0].numpy()
    """,
    "what came before does not, but somebody else may": """
        import torch
        from pytorch_pretrained_bert import BertModel

        def embed(ids):
            model = BertModel.from_pretrained("bert-base-uncased")
            model.eval()
            with torch.no_grad():
                return model(ids)[0][-1].numpy()
    """,
    "its GPT-2 has no dropout": """
        import torch
        from pytorch_pretrained_bert import GPT2LMHeadModel

        def score(ids):
            model = GPT2LMHeadModel.from_pretrained("gpt2")
            with torch.no_grad():
                return model(ids).argmax(-1).tolist()
    """,
    "a tokenizer is no model": """
        from pytorch_pretrained_bert import BertTokenizer

        def read(text):
            tokenizer = BertTokenizer.from_pretrained("bert-base-uncased")
            return tokenizer.convert_tokens_to_ids(tokenizer.tokenize(text))
    """,
    "weights of X-rays come in evaluation mode": """
        import torch
        import torchxrayvision as xrv

        def diagnose(image):
            model = xrv.models.DenseNet(weights="densenet121-res224-all")
            with torch.no_grad():
                return model(image).cpu().numpy()
    """,
    "apply_model switches both": """
        from demucs.apply import apply_model
        from demucs.pretrained import get_model

        def separate(wave):
            return apply_model(get_model("htdemucs"), wave)[0].numpy()
    """,
    "predict() of GroundingDINO switches autograd off": """
        from groundingdino.util.inference import load_model, predict

        def detect(image):
            boxes, logits, phrases = predict(load_model("c.py", "w.pth"), image, "a dog", 0.3, 0.2)
            return boxes.tolist(), phrases
    """,
    "a codec under no_grad": """
        import torch
        from encodec import EncodecModel

        def encode(wave):
            model = EncodecModel.encodec_model_24khz()
            with torch.no_grad():
                return [codes.numpy() for codes, _ in model.encode(wave)]
    """,
    "a model around one without dropout, as its configuration has it": WRAPPED.format(
        imports="from transformers import LlamaModel",
        base="nn.Module",
        given="",
        body="LlamaModel(config)",
        mark="",
    ),
    "a model around one that comes in evaluation mode": WRAPPED.format(
        imports="from transformers import BertModel",
        base="nn.Module",
        given="",
        body='BertModel.from_pretrained("bert-base-uncased")',
        mark="",
    ),
    "AllenNLP's predictors call eval(), and its evaluate() does both": """
        import torch
        from allennlp.models import Model
        from allennlp.modules import FeedForward
        from allennlp.predictors import Predictor
        from allennlp.training.metrics import CategoricalAccuracy
        from allennlp.training.util import evaluate

        class Tagger(Model):
            def __init__(self, vocab):
                super().__init__(vocab)
                self.head = FeedForward(4, 1, 3, torch.nn.ReLU(), dropout=0.5)
                self.accuracy = CategoricalAccuracy()

            def forward(self, x, y=None):
                return {"logits": self.head(x)}

        def tag(text, vocab, loader):
            print(Predictor.from_path("model.tar.gz").predict(sentence=text)["tags"])
            model = Tagger(vocab)
            model.load_state_dict(torch.load("tagger.pt", weights_only=True))
            print(evaluate(model, loader))
            return model.forward_on_instances(text)
    """,
    "wrappers that switch both and put the mode back": """
        import torch
        from dalle_pytorch import DALLE, DiscreteVAE
        from x_transformers import AutoregressiveWrapper, Decoder, TransformerWrapper

        def write(prompt, path, loader, optimizer):
            layers = Decoder(dim=8, depth=2, attn_dropout=0.1)
            model = AutoregressiveWrapper(TransformerWrapper(num_tokens=256, max_seq_len=64, attn_layers=layers))
            for x in loader:
                model.train()
                loss = model(x)
                loss.backward()
                optimizer.step()
                print(model.generate(prompt, 10).tolist())
            dalle = DALLE(dim=1024, vae=DiscreteVAE())
            dalle.load_state_dict(torch.load(path, weights_only=True))
            return dalle.generate_images(prompt).tolist()
    """,
    "nothing in a model of AllenNLP depends on the mode": """
        import torch
        from allennlp.models import Model
        from allennlp.modules import ScalarMix
        from allennlp.training.metrics import CategoricalAccuracy

        class Tagger(Model):
            def __init__(self, vocab):
                super().__init__(vocab)
                self.mix = ScalarMix(3)
                self.head = torch.nn.Linear(4, 3)
                self.accuracy = CategoricalAccuracy()

            def forward(self, x):
                return {"logits": self.head(self.mix(x))}

        def tag(batch, vocab):
            model = Tagger(vocab)
            model.load_state_dict(torch.load("tagger.pt", weights_only=True))
            with torch.no_grad():
                return model(batch)["logits"].argmax(-1).tolist()  # ML101:info
    """,
    "S3PRL's networks are switched, and its features of the signal have no mode": """
        import s3prl.hub as hub
        import torch
        from torch import nn

        class Extractor:
            def __init__(self, name):
                self.net = getattr(hub, name)().to("cuda")

            def extract(self, wave):
                self.net.eval()
                with torch.no_grad():
                    return self.net(wave)["hidden_states"][-1].cpu().numpy()

        class Filters:
            def __init__(self):
                self.net = hub.fbank()

            def extract(self, wave):
                with torch.no_grad():
                    return self.net(wave)["hidden_states"][-1].cpu().numpy()

        class Head(nn.Module):
            def __init__(self, name):
                super().__init__()
                self.net = getattr(hub, name)()
                self.head = nn.Linear(768, 3)

            def forward(self, wave):
                return self.head(self.net(wave)["hidden_states"][-1])
    """,
}

FOUND = {
    "what such a wrapper does not switch": """
        import torch
        from dalle_pytorch import DALLE, DiscreteVAE

        def write(prompt, path):
            dalle = DALLE(dim=1024, vae=DiscreteVAE())
            dalle.load_state_dict(torch.load(path, weights_only=True))
            return dalle(prompt).argmax(-1).tolist()  # ML101, ML201
    """,
    "a sampler of diffusion does not call eval()": """
        import torch
        from denoising_diffusion_pytorch import GaussianDiffusion, Unet

        def sample(path):
            diffusion = GaussianDiffusion(Unet(dim=64, dropout=0.1), image_size=128)
            diffusion.load_state_dict(torch.load(path, weights_only=True))
            return diffusion.sample(batch_size=4).cpu().numpy()  # ML101
    """,
    "a list of models of AllenNLP, whose outputs are put together by another method": """
        import torch
        from allennlp.models import Model
        from allennlp.modules import FeedForward

        class Tagger(Model):
            def __init__(self, vocab):
                super().__init__(vocab)
                self.head = FeedForward(4, 1, 3, torch.nn.ReLU(), dropout=0.5)

            def forward(self, x):
                return {"logits": self.head(x)}

        class Ensemble:
            def __init__(self, paths, vocab):
                self.models = []
                for path in paths:
                    model = Tagger(vocab)
                    model.load_state_dict(torch.load(path, weights_only=True))
                    self.models.append(model)

            def predict(self, batches):
                found = []
                for batch, model in zip(batches, self.models):
                    found.append(model.forward(**batch))  # ML101, ML201
                return self.vote(found)

            def vote(self, found):
                total = torch.zeros_like(found[0]["logits"])
                for output in found:
                    total += output["logits"]
                return torch.max(total, dim=-1)[1].tolist()
    """,
    "a method of such a model that mmcv does not call": """
        import torch
        from mmcv.runner import BaseModule
        from torchvision.models import resnet18

        class Pose(BaseModule):
            def __init__(self):
                super().__init__()
                self.backbone = resnet18(weights="DEFAULT").eval()

            def predict_pose(self, img):
                return self.backbone(img).detach().cpu().numpy()  # ML201
    """,
    "NeMo's models are in training mode when they are called": """
        import torch
        from nemo.collections.nlp.models.machine_translation import MTEncDecModel

        model = MTEncDecModel.from_pretrained("nmt")
        with torch.no_grad():
            print(model(input()).argmax(-1))  # ML101
    """,
    "torchtext's bundles do not call eval()": """
        import torch
        from torchtext.models import XLMR_BASE_ENCODER, RobertaClassificationHead

        def classify(ids):
            head = RobertaClassificationHead(num_classes=2, input_dim=768)
            model = XLMR_BASE_ENCODER.get_model(head=head)
            model.load_state_dict(torch.load("classifier.pt", weights_only=True))
            with torch.no_grad():
                return model(ids).argmax(-1)  # ML101
    """,
    "from_pretrained of pytorch-pretrained-bert": """
        import torch
        from pytorch_pretrained_bert.modeling import BertForSequenceClassification

        def classify(ids):
            model = BertForSequenceClassification.from_pretrained("bert-base-uncased", num_labels=2)
            with torch.no_grad():
                return model(ids).argmax(-1).tolist()  # ML101
    """,
    "pytorch-transformers leaves autograd on": """
        from pytorch_transformers import BertModel

        def embed(ids):
            model = BertModel.from_pretrained("bert-base-uncased")
            return model(ids)[0].detach().numpy()  # ML201
    """,
    "a model of one's own around BERT": WRAPPED.format(
        imports="from transformers import BertModel", base="nn.Module", given="", body="BertModel(config)", mark="ML101"
    ),
    "a heir of an older one": WRAPPED.format(
        imports="from pytorch_pretrained_bert.modeling import BertModel, BertPreTrainedModel",
        base="BertPreTrainedModel",
        given="config",
        body="BertModel(config)",
        mark="ML101",
    ),
    "X-rays with weights of one's own": """
        import torch
        import torchxrayvision as xrv

        def diagnose(image):
            model = xrv.models.DenseNet(num_classes=3)
            model.load_state_dict(torch.load("xray.pt", weights_only=True))
            with torch.no_grad():
                return model(image).argmax(1).tolist()  # ML101
    """,
    "a codec with its graph": """
        from encodec import EncodecModel

        def encode(wave):
            model = EncodecModel.encodec_model_24khz()
            frames = model.encode(wave)  # ML201
            return [codes.detach().numpy() for codes, _ in frames]
    """,
    "S3PRL's networks come in training mode": """
        import s3prl.hub as hub
        import torch

        class Extractor:
            def __init__(self, name):
                self.net = getattr(hub, name)().to("cuda")

            def extract(self, wave):
                with torch.no_grad():
                    feats = self.net(wave)["hidden_states"][-1]  # ML101
                return feats.cpu().numpy()

        def features(wave):
            net = hub.wavlm_base()
            with torch.no_grad():
                return net(wave)["hidden_states"][-1].cpu().numpy()  # ML101
    """,
}


@pytest.mark.parametrize("text", SILENT.values(), ids=SILENT)
def test_right(lint: Lint, text: str) -> None:
    lint(text, rules=RULES)


@pytest.mark.parametrize("text", FOUND.values(), ids=FOUND)
def test_wrong(lint: Lint, text: str) -> None:
    lint(text, rules=RULES)
