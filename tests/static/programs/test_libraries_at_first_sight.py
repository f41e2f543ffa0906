"""What libraries of the last draw taught: the correct code of each kind, then the defect beside it."""

from __future__ import annotations

import pytest

from modellint.diagnostic import Severity
from tests.static.conftest import Lint

HEAD = """
import torch
from torch import nn
from torchvision.models import resnet18
"""

SHAPES = """
def evaluate(loader):
    net = resnet18(weights="DEFAULT").eval()
    total = 0
    for x in loader:
        loss = {result}
        total += loss{mark}
    print(total / len(loader))
"""


@pytest.mark.parametrize(
    ("result", "mark"),
    [
        ("torch.zeros_like(net(x)).sum()", ""),
        ("torch.rand_like(net(x)).mean()", ""),
        ("torch.relu(net(x)).mean()", "  # ML204"),
    ],
)
def test_a_tensor_of_the_same_shape_keeps_no_graph(lint: Lint, result: str, mark: str) -> None:
    lint(HEAD + SHAPES.format(result=result, mark=mark), rules=["ML204"])


WHOLE = """
class Converter(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.{layer}(4)

    def forward(self, x):
        return self.scale(x)

class Whole(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.converter = Converter()
        self.body = nn.Sequential(nn.Linear(width, 2), nn.Dropout(0.5))

    @classmethod
    def load(cls, path):
        saved = torch.load(path, weights_only=True)
        net = cls(**saved["options"])
        net.load_state_dict(saved["state"])
        return net

    def predict(self, structures):
        graphs = [self.converter(one) for one in structures]{mark}
        self.eval()
        with torch.no_grad():
            return self.body(torch.stack(graphs)).argmax(-1)

def main(path, structures):
    net = Whole.load(path)
    print(net.predict(structures))
"""


@pytest.mark.parametrize(("layer", "mark"), [("LayerNorm", ""), ("BatchNorm1d", "  # ML101")])
def test_a_part_in_front_of_the_switch(lint: Lint, layer: str, mark: str) -> None:
    lint(HEAD + WHOLE.format(layer=layer, mark=mark), rules=["ML101"])


GRAPHS = """
from torch_geometric.nn import CGConv, DMoNPooling, GATConv, HANConv, HEATConv, RGATConv, SGFormer
from torch_geometric.nn import TransformerConv, XConv
from torch_geometric.nn.conv import GCNConv, SAGEConv

class Local(GCNConv):
    pass

class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first = {layer}
        self.last = nn.Linear(width, 2)

    def forward(self, x, edges):
        return self.last(self.first(x, edges))

@torch.no_grad()
def predict(path, x, edges):
    net = Net(8)
    net.load_state_dict(torch.load(path, weights_only=True))
    return net(x, edges).argmax(-1)  # {mark}
"""


@pytest.mark.parametrize(
    ("layer", "mark"),
    [
        ("Local(width, width)", "ML101:info"),
        ("SAGEConv(width, width)", "ML101:info"),
        ("GATConv(width, width)", "ML101:info"),
        ("GATConv(width, width, dropout=0.0)", "ML101:info"),
        ("GATConv(width, width, dropout=0.6)", "ML101"),
        ("TransformerConv(width, width, 1, True, False, 0.5)", "ML101"),
        ("HANConv(width, width, None)", "ML101:info"),
        ("HANConv(width, width, None, dropout=0.5)", "ML101"),
        ("HEATConv(width, width, 2, 3, 4, 5, 6, 1, True, 0.2, 0.5)", "ML101"),
        ("RGATConv(width, width, 3, None, None, 'additive')", "ML101:info"),
        ("DMoNPooling(width, 4, 0.5)", "ML101"),
        ("CGConv(width)", "ML101:info"),
        ("CGConv(width, batch_norm=True)", "ML101"),
        ("XConv(width, width, 3, 8)", "ML101"),
        ("SGFormer(width, width, width)", "ML101"),
    ],
)
def test_convolutions_of_graphs(lint: Lint, layer: str, mark: str) -> None:
    lint(HEAD + GRAPHS.format(layer=layer, mark=mark), rules=["ML101"])


AGENT = {
    "heads.py": """
        import torch
        from torch import nn

        class Head(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.{layer}

            def forward(self, x):
                return self.fc(x)
    """,
    "agent.py": """
        import torch

        @torch.no_grad()
        def predict(config, path, x):
            net = config.network_fn()
            net.load_state_dict(torch.load(path, weights_only=True))
            print(net(x).argmax(-1).tolist()){mark}
    """,
}


@pytest.mark.parametrize(("layer", "mark"), [("Linear(4, 2)", ""), ("Dropout(0.5)", "  # ML101")])
def test_a_project_in_which_nothing_has_a_mode(lint: Lint, layer: str, mark: str) -> None:
    lint({name: text.format(layer=layer, mark=mark) for name, text in AGENT.items()}, rules=["ML101"])


EPISODES = """
class Agent:
    def __init__(self):
        self.model = resnet18()
        self.optimizer = torch.optim.Adam(self.model.parameters())
        self.episodes = [[]]

    def act(self, x):
        choice = torch.distributions.Categorical(logits=self.model(x)){mark}
        action = choice.sample()
        self.episodes[-1].append({kept})
        return action.cpu().numpy()[0]

    def learn(self):
        loss = torch.stack([torch.stack(episode).sum() for episode in self.episodes]).mean()
        loss.backward()
        self.optimizer.step()
"""


@pytest.mark.parametrize(
    ("kept", "mark"), [("choice.log_prob(action)", ""), ("choice.log_prob(action).detach().numpy()", "  # ML201")]
)
def test_what_is_kept_in_a_list_of_lists_is_trained_on(lint: Lint, kept: str, mark: str) -> None:
    lint(HEAD + EPISODES.format(kept=kept, mark=mark), rules=["ML201"])


EPOCH = """
def one_epoch(model, loader, optimizer, loss_scaler, criterion):
    model.eval()
    for x, y in loader:
        output = model(x){mark}
        loss = criterion(output, y)
        {step}
        print(output.argmax(-1), loss.item())

def main(loader, scaler):
    net = resnet18(weights="DEFAULT")
    optimizer = torch.optim.Adam(net.parameters())
    one_epoch(net, loader, optimizer, scaler, nn.CrossEntropyLoss())
"""


@pytest.mark.parametrize(
    ("step", "mark"),
    [
        ("loss_scaler(loss, optimizer, clip_grad=1.0)", ""),
        ("loss_scaler(loss, parameters=model.parameters())", ""),
        ("loss_scaler(loss, 2)", "  # ML201"),
        ("save_checkpoint(loss, optimizer)", "  # ML201"),
    ],
)
def test_a_scaler_that_gets_the_loss_and_the_optimizer_differentiates(lint: Lint, step: str, mark: str) -> None:
    lint(HEAD + EPOCH.format(step=step, mark=mark), rules=["ML201"])


GRAFTED = """
@torch.no_grad()
def forward_of_a_pipeline({first}, latents):
    images = {first}.vae.decode(latents){mark}
    return images.argmax(1).tolist()
"""


def test_what_is_put_into_a_class_out_of_sight_runs_its_parts_as_they_are(lint: Lint) -> None:
    lint(HEAD + GRAFTED.format(first="self", mark=""), rules=["ML101"])


LEARNER = """
{imports}

def show(path, file, items):
    net = load_learner(path, file)
    net.load_state_dict(torch.load(path, weights_only=True))
    net.eval()
    for item in items:
        print(net.predict(item)[0].argmax().item()){mark}
"""


@pytest.mark.parametrize(
    ("imports", "mark"), [("from fastai.vision import *", ""), ("from learners import load_learner", "  # ML201")]
)
def test_a_learner_of_fastai_switches_by_itself(lint: Lint, imports: str, mark: str) -> None:
    lint(HEAD + LEARNER.format(imports=imports, mark=mark), rules=["ML201"])


LAYERS = """
def layers(sizes):
    made = [nn.Linear(2, 4)]
    for size in sizes:
        made.append(nn.Linear(4, 4))
        made.append(nn.{layer})
    return made

@torch.no_grad()
def predict(path, x, sizes):
    net = nn.Sequential(*layers(sizes), nn.Linear(4, 2))
    net.load_state_dict(torch.load(path, weights_only=True))
    print(net(x).argmax(-1).tolist()){mark}
"""


@pytest.mark.parametrize(("layer", "mark"), [("ReLU()", "  # ML101:info"), ("Dropout(0.5)", "  # ML101:error")])
def test_a_row_of_layers_out_of_a_list(lint: Lint, layer: str, mark: str) -> None:
    found = lint(HEAD + LAYERS.format(layer=layer, mark=mark), rules=["ML101"])
    assert all("Dropout(p=0.5)" in one.message for one in found if one.severity is Severity.ERROR)


ASKED = """
class Noisy(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 2)

    def forward(self, x, training=False):
        if {asked}:
            x = x + torch.normal(0.0, 0.1, x.shape)
        return self.fc(x)

@torch.no_grad()
def predict(path, x):
    net = Noisy()
    net.load_state_dict(torch.load(path, weights_only=True))
    print(net(x).argmax(-1).tolist())  # {mark}
"""


@pytest.mark.parametrize(
    ("asked", "mark"), [("training", "ML101:info"), ("self.training", "ML101"), ("training or self.training", "ML101")]
)
def test_what_an_argument_decides_is_no_mode(lint: Lint, asked: str, mark: str) -> None:
    lint(HEAD + ASKED.format(asked=asked, mark=mark), rules=["ML101"])
