"""What annotations, containers and names of torch tell of models, and what is no part of one: correct code first."""

from __future__ import annotations

import pytest

from modellint.diagnostic import Confidence
from tests.static.conftest import Lint

ANNOTATED = """
import torch
from torch import nn
from typing import Optional, Union

class Plain(nn.Module):
    def __init__(self):
        super().__init__()
        self.out = nn.Linear(2, 2)

    def forward(self, x):
        return self.out(x)

class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        return self.drop(x)

class Base(nn.Module):
    def forward(self, x):
        raise NotImplementedError

class Heir(Base):
    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        return self.drop(x)

class Features(nn.Module):
    def __init__(self):
        super().__init__()
        self.held = nn.ModuleDict()

class Filled(nn.Module):
    def __init__(self, makers):
        super().__init__()
        self.features = Features()
        self.features.held.update({name: make() for name, make in makers.items()})

    def forward(self, x):
        return self.features.held["all"](x)

class Chance(nn.Module):
    def __init__(self, p=0.0):
        super().__init__()
        self.drop = nn.Dropout(p)

    def forward(self, x):
        return self.drop(x)

@torch.no_grad()
def accuracy(it: {annotation}, loader):
    return [(it(x).argmax(1) == y).sum().item() for x, y in loader]{mark}
"""


@pytest.mark.parametrize(
    ("annotation", "mark"),
    [
        ("Plain", ""),
        ("Optional[Plain]", ""),
        ("'Plain | None'", ""),
        ("'not python ['", ""),
        ("Labels", ""),
        ("int", ""),
        ("Tagger", "  # ML101"),
        ("Optional[Tagger]", "  # ML101"),
        ("Union[None, Tagger]", "  # ML101"),
        ("'Tagger | None'", "  # ML101"),
    ],
)
def test_an_annotation_tells_what_an_argument_is(lint: Lint, annotation: str, mark: str) -> None:
    text = ANNOTATED.replace("{annotation}", annotation).replace("{mark}", mark)
    lint({"evaluate.py": text}, rules=["ML101"])


@pytest.mark.parametrize(
    ("annotation", "mark"),
    [("Plain", ""), *((name, "  # ML101") for name in ("Chance", "Base", "Filled", "nn.Module"))],
)
def test_what_an_annotation_leaves_open_is_possible(lint: Lint, annotation: str, mark: str) -> None:
    text = ANNOTATED.replace("{annotation}", annotation).replace("{mark}", mark)
    found = lint({"evaluate.py": text}, rules=["ML101"], possible=True)
    assert {d.confidence for d in found} <= {Confidence.POSSIBLE}


FABRIC = """
import torch
import lightning as L
from torch import nn

class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = {part}

    def forward(self, x):
        return self.body(x)

def main(fabric: L.Fabric, loader):
    with fabric.init_module():
        model = GPT()
    model = fabric.setup(model)
    fit(fabric, model, loader)

def fit(fabric: L.Fabric, model: GPT, loader):
    optimizer = torch.optim.AdamW(model.parameters())
    for step, (x, y) in enumerate(loader):
        loss = nn.functional.cross_entropy(model(x), y){mark}
        fabric.backward(loss)
        optimizer.step()
        if step % 100 == 0:
            show(model, x)

@torch.no_grad()
def show(model: GPT, x):
    model.eval()
    print(model(x).argmax(1))
"""


@pytest.mark.parametrize(
    ("part", "mark"), [("nn.Linear(2, 2)", "  # ML103:info"), ("nn.Dropout(0.1)", "  # ML103:warning")]
)
def test_what_a_runner_hands_back_is_what_its_annotation_says(lint: Lint, part: str, mark: str) -> None:
    lint({"train.py": FABRIC.replace("{part}", part).replace("{mark}", mark)}, rules=["ML103"])


HOOKED = """
import torch
from torch import nn
from torch.nn.modules.linear import Linear
from torch.nn.parameter import Parameter
from typing import Generic, TypeVar
import pathlib

T = TypeVar("T")

class Point(nn.Module):
    def forward(self, x):
        return x

    def watch(self, hook):
        self.register_full_backward_hook(hook)

class Blocks(nn.ModuleList, Generic[T]):
    pass

class Block(nn.Module):
    def __init__(self, path, loss_fn):
        super().__init__()
        self.path = pathlib.Path(path)
        self.loss_fn = loss_fn
        self.point, self.out, self.scale = Point(), Linear(2, 2), Parameter(torch.ones(2))
        {more}

    def forward(self, x, y=None):
        out = self.out(self.point(x)) * self.scale
        return out if y is None else self.loss_fn(out, y)

class Net(nn.Module):
    def __init__(self, n, loss_fn):
        super().__init__()
        self.blocks = Blocks([Block(str(i), loss_fn) for i in range(n)])

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x

def predict(path, x, criterion):
    net = Net(4, criterion)
    net.load_state_dict(torch.load(path, weights_only=True))
    with torch.no_grad():
        return net(x).argmax(1){mark}
"""


@pytest.mark.parametrize(
    ("more", "mark"),
    [
        ("pass", "  # ML101:info"),
        ("self.out = nn.Sequential(self.out, nn.modules.dropout.Dropout(0.1))", "  # ML101:error"),
    ],
)
def test_nothing_depends_on_the_mode_through_containers_and_hooks(lint: Lint, more: str, mark: str) -> None:
    text = HOOKED.replace("{more}", more).replace("{mark}", mark)
    lint({"net.py": text}, rules=["ML101"])


WRAPPER = {
    "segment.py": """
    import torch
    import torchvision
    from torch import nn

    class Segmenter(nn.Module):
        def __init__(self, path):
            super().__init__()
            self.transform = torchvision.transforms.Normalize([0.5], [0.5])
            model = nn.Sequential(nn.Conv2d(3, 2, 1), nn.BatchNorm2d(2))
            model.load_state_dict(torch.load(path, weights_only=True))
            {ready}
            self.model = model

        def forward(self, x):
            x = self.transform(x)
            return self.model(x)
    """,
    "show.py": """
    import torch
    from segment import Segmenter

    segmenter = Segmenter("weights.pt")
    with torch.no_grad():
        print(segmenter(torch.rand(1, 3, 64, 64)).argmax(1)){mark}
    """,
}


@pytest.mark.parametrize(("ready", "mark"), [("model.eval()", ""), ("pass", "  # ML101")])
def test_a_wrapper_whose_part_was_readied_in_its_constructor(lint: Lint, ready: str, mark: str) -> None:
    files = {name: text.replace("{ready}", ready).replace("{mark}", mark) for name, text in WRAPPER.items()}
    lint(files, rules=["ML101"], check=["show.py"])


TOKENS = """
import torch
from torch import nn
from transformers import AutoTokenizer

class Bridge(nn.Module):
    def __init__(self, name, tokenizer):
        super().__init__()
        self.tokenizer = {tokenizer}
        self.embed, self.out = nn.Embedding(100, 8), nn.Linear(8, 100)

    def to_tokens(self, text):
        return self.tokenizer(text, return_tensors="pt")["input_ids"]

    def forward(self, tokens):
        return self.out(self.embed(tokens))

bridge = Bridge("gpt2", AutoTokenizer.from_pretrained("gpt2"))
bridge.load_state_dict(torch.load("bridge.pt", weights_only=True))
bridge.eval()
tokens = bridge.to_tokens("a text"){mark}
print(tokens.argmax().item())
with torch.no_grad():
    print(bridge(tokens).argmax(-1))
"""


@pytest.mark.parametrize(
    ("tokenizer", "mark"),
    [("tokenizer", ""), ("AutoTokenizer.from_pretrained(name)", ""), ("nn.Linear(8, 8)", "  # ML201")],
)
def test_a_tokenizer_that_a_model_keeps_is_no_part_of_it(lint: Lint, tokenizer: str, mark: str) -> None:
    lint({"bridge.py": TOKENS.replace("{tokenizer}", tokenizer).replace("{mark}", mark)}, rules=["ML201"])


BRANCHES = """
import torch
from torch import nn
from torchvision.models import resnet18

class Patches(nn.Module):
    def __init__(self, path, tune):
        super().__init__()
        self.tune = tune
        self.body = resnet18()
        self.body.load_state_dict(torch.load(path, weights_only=True))

    def embed(self, images, evaluation=False):
        if not evaluation and self.tune:
            self.body.train()
            features = self.body(images){mark}
        else:
            {other}
        return features.flatten(1)

def predict(path, images):
    patches = Patches(path, True)
    return patches.embed(images).argmax(1).tolist()
"""


@pytest.mark.parametrize(
    ("other", "mark"),
    [("features = self.body.eval()(images)", ""), ("features = images.unfold(2, 8, 8)", "  # ML101")],
)
def test_the_branch_for_training_of_a_function_that_readies_the_other(lint: Lint, other: str, mark: str) -> None:
    lint({"patches.py": BRANCHES.replace("{other}", other).replace("{mark}", mark)}, rules=["ML101"])
