"""What libraries of size taught: what is no model, what a function keeps of a graph, modes by other people's tools."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint

RULES = ("ML101", "ML109", "ML201", "ML204")

PIPELINE = """
import torch
from library import Mixin

class Pipeline(Mixin):
    def __init__(self, text_encoder, flow):
        self.text_encoder = text_encoder
        self.flow = flow

    def encode(self, prompt):
        if self.text_encoder is not None:
            if hasattr(self.text_encoder.config, "mask") and self.text_encoder.config.mask:
                mask = prompt.mask
            else:
                mask = None
        return self.text_encoder(prompt.ids, mask)[0]

    @torch.no_grad()
    def __call__(self, prompt):
        return self.encode(prompt).cpu().numpy()
"""
TRANSFORM = """
import torch
from shaking import Shake

def main(points, risk):
    {name} = Shake(torch.randn(4, 1))
    {name}.eval()
    print(risk({name}(points)).numpy())
"""
COLLATE = """
class Segmentation:
    def __init__(self, augmentation):
        self.{name} = augmentation

    def collate(self, samples, stage="train"):
        self.{name}.train(mode=(stage == "train"))
        return self.{name}(samples=samples).samples.numpy()

    def validate(self, samples):
        self.{name}.eval()
        return self.collate(samples, "val")
"""
SESSION = """
import torch
import onnxruntime
from transformers import AutoModel

class Tagger:
    def __init__(self, path, onnx):
        self.model = onnxruntime.InferenceSession(path) if onnx else AutoModel.from_pretrained(path)

    def predict(self, inputs, onnx):
        self.model.eval()
        if onnx:
            return self.model.run({arguments})[0].argmax(-1).tolist()
        with torch.no_grad():
            return self.model(inputs)[0].argmax(-1).tolist()
"""
COUNTS = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 2)

    def forward(self, x):
        return self.fc(x)

def {name}(y, labels):
    {body}

def run(batches):
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    total = 0
    for x, labels in batches:
        y = net.forward(x)
        loss = nn.functional.cross_entropy(y, labels)
        rate = {name}(y, labels)
        loss.backward()
        optimizer.step()
        total += rate{mark}
    print(total)
"""
EVAL_MODE = """
import torch
from monai.networks.nets import DenseNet121
from monai.networks.utils import eval_mode

data = {{"a": {{"model": DenseNet121(2, 1, 3)}}, "b": {{"model": DenseNet121(2, 1, 3)}}}}
for name in data:
    data[name]["model"].load_state_dict(torch.load(name, weights_only=True))

def evaluate(loader):
    with {switch}:
        for batch in loader:
            for name in data:
                print(data[name]["model"](batch).argmax(1)){mark}

evaluate(loader)
"""
INITIALISED = """
import torch
from apex import amp
from torch import nn

net = nn.Sequential(nn.Conv2d(3, 3, 3), {norm}).cuda()
optimizer = torch.optim.Adam(net.parameters())
[net], [optimizer] = amp.initialize([net], [optimizer])
for x in loader:
    net.train()
    loss = net(x).mean()
    loss.backward()
    optimizer.step()
with torch.no_grad():
    print(net(test_images).cpu().numpy()){mark}
"""
FEATURES = """
import timm
import torch
from torch import nn

class Classifier(nn.Module):
    def __init__(self, name):
        super().__init__()
        self.model = timm.create_model(name, pretrained=True)

    def extract_feat(self, x):
        return self.model.forward_features(x){end}
"""
CLASSIFIER = """
from {library} import BaseModel
from transformers import AutoModelForImageClassification

class Classifier(BaseModel):
    def __init__(self, name):
        super().__init__()
        self.model = AutoModelForImageClassification.from_pretrained(name)

    def predict(self, inputs):
        return self.model(inputs).logits.argmax(1).tolist(){mark}
"""
HELPED = {
    "model.py": """
        class Wrapper:
            def __init__(self, network):
                self.network = network

            def score_of(self, batch):
                self.network.eval()
                return self.network(batch).argmax(1).tolist()%s
        """,
    "inference.py": """
        def scores(model, loader):
            return [model.score_of(batch) for batch in loader]
        """,
    "predict.py": """
        import torch
        from inference import scores
        from model import Wrapper

        def main(wrapper, loader):
            %s
                print(scores(wrapper, loader))
        """,
}
TRACED = """
import torch
from torch import nn

class Process(nn.Module):
    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        return self.drop(x)

class Mean(nn.Module):
    def __init__(self, process):
        super().__init__()
        self.process = process
        {own}

    def forward(self, x):
        return {run}(x).mean(0)

process = Process()
process.load_state_dict(torch.load("process.pt", weights_only=True))
{ready}
torch.jit.trace(Mean(process), torch.zeros(3)).save("mean.pt"){mark}
"""

SILENT: dict[str, dict[str, str]] = {
    "parts that a pipeline is given": {"app.py": PIPELINE},
    "a transform of data that has a mode": {"app.py": TRANSFORM.format(name="new_transform")},
    "an augmentation that follows the stage": {"app.py": COLLATE.format(name="augmentation")},
    "a session of ONNX Runtime in the place of the model": {
        "app.py": SESSION.format(arguments='None, {"ids": inputs.numpy()}')
    },
    "a share of hits, worked out by a function": {
        "app.py": COUNTS.format(
            name="rate_of", body="return 100.0 * (y.max(1)[1] == labels).sum() / y.size(0)", mark=""
        )
    },
    "decisions that a function takes": {
        "app.py": COUNTS.format(name="decide", body="return y.argmax(1).float().std()", mark="")
    },
    "networks that a context is given with a star": {
        "app.py": EVAL_MODE.format(switch='eval_mode(*[data[name]["model"] for name in data.keys()])', mark="")
    },
    "what apex hands back depends on the mode as little as before": {
        "app.py": INITIALISED.format(norm="nn.InstanceNorm2d(3)", mark="")
    },
    "features of a part that a library made, for the callers of the module": {"app.py": FEATURES.format(end="")},
    "predictions that the loops of a library ask for": {"app.py": CLASSIFIER.format(library="mmengine.model", mark="")},
    "a thin layer around what is in evaluation mode": {
        "app.py": TRACED.format(own="", run="self.process", ready="process.eval()", mark="")
    },
    "a method whose callers' callers switch autograd off": {
        **HELPED,
        "model.py": HELPED["model.py"] % "",
        "predict.py": HELPED["predict.py"] % "with torch.no_grad():",
    },
}
FOUND: dict[str, dict[str, str]] = {
    "a model that is named like no transform": {
        "app.py": TRANSFORM.format(name="new_transformer").replace("numpy())", "numpy())  # ML201")
    },
    "a method called run that is given a batch": {
        "app.py": SESSION.format(arguments="inputs").replace(
            ".argmax(-1).tolist()\n        with", ".argmax(-1).tolist()  # ML201\n        with"
        )
    },
    "a measure of the project that keeps the graph": {
        "app.py": COUNTS.format(name="spread", body="return y.std(1).mean()", mark="  # ML204")
    },
    "a loss of the project that compares labels": {
        "app.py": COUNTS.format(name="my_loss", body="return (y.std(1) * (labels == 1)).mean()", mark="  # ML204")
    },
    "networks that a context does not switch": {"app.py": EVAL_MODE.format(switch="torch.no_grad()", mark="  # ML101")},
    "batch norm that apex hands back": {"app.py": INITIALISED.format(norm="nn.BatchNorm2d(3)", mark="  # ML101")},
    "a prediction of a part that a library made": {
        "app.py": FEATURES.format(end=".argmax(-1).tolist()  # ML101, ML201").replace(
            "    def extract_feat", "    def predict"
        )
    },
    "predictions of a base class that nothing is known of": {
        "app.py": CLASSIFIER.format(library="mine.model", mark="  # ML201")
    },
    "a thin layer around what is in training mode": {
        "app.py": TRACED.format(own="", run="self.process", ready="process.cpu()", mark="  # ML109")
    },
    "a layer with a dropout of its own": {
        "app.py": TRACED.format(
            own="self.drop = nn.Sequential(process, nn.Dropout(0.1))",
            run="self.drop",
            ready="process.eval()",
            mark="  # ML109",
        )
    },
    "a method whose callers' callers do not": {
        **HELPED,
        "model.py": HELPED["model.py"] % "  # ML201",
        "predict.py": HELPED["predict.py"] % "if loader:",
    },
}


@pytest.mark.parametrize("name", SILENT)
def test_right(lint: Lint, name: str) -> None:
    lint(SILENT[name], rules=RULES)


@pytest.mark.parametrize("name", FOUND)
def test_wrong(lint: Lint, name: str) -> None:
    lint(FOUND[name], rules=RULES)
