"""Models of which nothing, or a name alone, tells that they depend on the mode: correct code first."""

from __future__ import annotations

import pytest

from modellint.diagnostic import Confidence
from tests.static.conftest import Lint

MADE = """
import torch
from torch import nn
from registries import get

class Base(nn.Module):
    @classmethod
    def {maker}(cls, path):
        package = torch.load(path, weights_only=True)
        net = get(package["name"])(*package["arguments"])
        net.load_state_dict(package["weights"])
        return net

class Separator(Base):
    def __init__(self, width):
        super().__init__()
        self.body = {body}

    def forward(self, x):
        return self.body(x)

net = Separator.{maker}("separator.pt")
with torch.no_grad():
    print(net(torch.ones(1, 4)).argmax(-1)){mark}
"""


@pytest.mark.parametrize(
    ("maker", "body", "severity", "confidence"),
    [
        ("from_pretrained", "nn.Linear(width, width)", "info", Confidence.POSSIBLE),
        ("load", "nn.Sequential(nn.Linear(width, width), nn.ReLU())", "info", Confidence.POSSIBLE),
        ("from_pretrained", "nn.Sequential(nn.Linear(width, width), nn.Dropout(0.1))", "error", Confidence.LIKELY),
        ("pick", "nn.Linear(width, width)", "error", Confidence.POSSIBLE),  # that may be of any class
    ],
)
def test_what_a_class_makes_is_one_of_it(
    lint: Lint, maker: str, body: str, severity: str, confidence: Confidence
) -> None:
    program = MADE.format(maker=maker, body=body, mark=f"  # ML101:{severity}")
    assert [d.confidence for d in lint(program, rules=["ML101"], possible=True)] == [confidence]


HEIRS = (
    MADE
    + """
class Noisy(Separator):
    def __init__(self, width):
        super().__init__(width)
        self.body = nn.Dropout(0.1)
"""
)


def test_what_a_class_with_heirs_makes_may_be_one_of_them(lint: Lint) -> None:
    program = HEIRS.format(maker="from_pretrained", body="nn.Linear(width, width)", mark="  # ML101")
    assert [d.confidence for d in lint(program, rules=["ML101"], possible=True)] == [Confidence.POSSIBLE]


FILLED = """
import torch
from torch import nn

class Kernels(nn.Module):
    def __init__(self, path, width):
        super().__init__()
        self.body = {body}
        if path is not None:
            self.load_state_dict(torch.load(path, weights_only=True))

    def forward(self, x):
        return self.body(x)

net = Kernels("kernels.pt", 4)
with torch.no_grad():
    print(net(torch.ones(1, 4)).argmax(-1))  # ML101:{severity}
"""


@pytest.mark.parametrize(
    ("body", "severity"),
    [("nn.Linear(width, width)", "info"), ("nn.Sequential(nn.Linear(width, width), nn.Dropout(0.1))", "error")],
)
def test_weights_that_a_constructor_loads_are_no_part(lint: Lint, body: str, severity: str) -> None:
    lint(FILLED.format(body=body, severity=severity), rules=["ML101"])


CELL = """
import torch
from torch import nn

class Peephole(nn.LSTMCell):
    def __init__(self, width):
        super().__init__(width, width)
        self.peep = nn.Parameter(torch.zeros(width))
        self.{reset}()

class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.cell = Peephole(width)

    def forward(self, x):
        return self.cell(x)[0]

net = Net(4)
net.load_state_dict(torch.load("net.pt", weights_only=True))
with torch.no_grad():
    print(net(torch.ones(1, 4)).argmax(-1)){mark}
"""


@pytest.mark.parametrize(
    ("reset", "confidence"), [("reset_parameters", Confidence.CERTAIN), ("regulate", Confidence.POSSIBLE)]
)
def test_a_method_of_a_layer_of_torch_is_no_part(lint: Lint, reset: str, confidence: Confidence) -> None:
    found = lint(CELL.format(reset=reset, mark="  # ML101"), rules=["ML101"], possible=True)
    assert [d.confidence for d in found] == [confidence]


SPIKING = {
    "snntorch/__init__.py": "from .neurons import Leaky, {name}\n",
    "snntorch/neurons.py": """
        import torch
        from torch import nn
        from surrogates import Atan

        class Leaky(nn.Module):
            def __init__(self, beta):
                super().__init__()
                self.surrogate = Atan()

            def forward(self, x):
                return self.surrogate(x)

        class {name}(Leaky):
            pass
        """,
    "examples/first.py": """
        import snntorch as snn
        import torch
        from torch import nn

        net = nn.Sequential(nn.Linear(4, 4), snn.{name}(0.5))
        optimizer = torch.optim.SGD(net.parameters(), 0.1)
        for x, y in loader:
            net.train()
            optimizer.zero_grad()
            nn.functional.cross_entropy(net(x), y).backward()
            optimizer.step()
        with torch.no_grad():
            print(net(torch.ones(1, 4)).argmax(-1)){mark}
        """,
}


@pytest.mark.parametrize(("name", "mark"), [("Lapicque", ""), ("Dropping", "  # ML101")])
def test_what_is_known_of_a_library_holds_in_its_own_project(lint: Lint, name: str, mark: str) -> None:
    lint({file: text.format(name=name, mark=mark) for file, text in SPIKING.items()}, rules=["ML101"])


EVALUATED = """
import torch

def evaluate(model, loader):
    {first}
    with torch.no_grad():
        for x, y in loader:
            print((model(x).argmax(-1) == y).sum().item())  # ML101
{more}
"""
TRAINS = """
def train(model, loader, optimizer, criterion):
    model.train()
    for x, y in loader:
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("first", "more", "confidence"),
    [
        ("pass", "", Confidence.POSSIBLE),
        ("model.load_state_dict(torch.load('net.pt', weights_only=True))", "", Confidence.LIKELY),
        ("model.train()", "", Confidence.CERTAIN),
        ("model.eval", "", Confidence.LIKELY),  # which is not called
        ("pass", TRAINS, Confidence.LIKELY),
    ],
)
def test_something_has_to_tell_that_a_model_depends_on_the_mode(
    lint: Lint, first: str, more: str, confidence: Confidence
) -> None:
    found = lint(EVALUATED.format(first=first, more=more), rules=["ML101"], possible=True)
    assert [d.confidence for d in found] == [confidence]


OF_THE_FILE = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.out = {layer}

    def forward(self, x):
        return self.out(x)

class Cost(nn.Module):
    def forward(self, scores, labels):
        return nn.functional.cross_entropy(scores, labels)

def train(net, loader, optimizer):
    net.train()
    for x, y in loader:
        optimizer.zero_grad()
        Cost()(net(x), y).backward()
        optimizer.step()
    return test(net, loader)

def test(net, loader):
    with torch.no_grad():
        return sum((net(x).argmax(1) == y).sum().item() for x, y in loader){mark}
"""


@pytest.mark.parametrize(
    ("layer", "mark"),
    [("nn.Linear(4, 2)", ""), ("nn.Sequential(nn.Linear(4, 2), nn.Dropout(0.1))", "  # ML101")],
)
def test_what_callers_give_is_most_likely_of_the_file(lint: Lint, layer: str, mark: str) -> None:
    lint(OF_THE_FILE.format(layer=layer, mark=mark), rules=["ML101"])


PARTS = """
import torch
from torch import nn

class Genes(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.embedding, self.norm = nn.Embedding(99, width), nn.LayerNorm(width)

    def forward(self, x):
        return self.norm(self.embedding(x))

class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.encoder = Genes(width)
        self.body = nn.TransformerEncoderLayer(width, 2)

    def forward(self, x):
        return self.body(self.encoder(x))

model = Model(8)
model.load_state_dict(torch.load("model.pt", weights_only=True))
with torch.no_grad():
    print(model.{part}(torch.ones(1, 4)).argmax(-1)){mark}
"""


@pytest.mark.parametrize(("part", "mark"), [("encoder", ""), ("body", "  # ML101")])
def test_a_part_of_a_model_may_have_no_mode(lint: Lint, part: str, mark: str) -> None:
    lint(PARTS.format(part=part, mark=mark), rules=["ML101"])


READIED = """
import torch

class Posterior:
    def __init__(self, model):
        self.model = model

    def {first}(self, loader):
        self.model.eval()
        self.means = [self.model(x).mean(0) for x, _ in loader]
        print(torch.stack(self.means).argmax(-1))

    def sample_posterior(self, x):
        with torch.no_grad():
            return self.model(x).argmax(-1){mark}
"""


@pytest.mark.parametrize(("first", "mark"), [("fit", ""), ("predict", "  # ML101")])
def test_what_fit_leaves_is_ready_for_the_other_methods(lint: Lint, first: str, mark: str) -> None:
    lint(READIED.format(first=first, mark=mark).replace("sample_posterior", "predict_all"), rules=["ML101"])


ENDS = """
import sys
import torch
from torch import nn
from networks import quit_early

def main(args, net, loader, optimizer):
    net.train()
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        optimizer.step()
    {end}
    with torch.no_grad():
        for x, y in loader:
            print((net(x).argmax(1) == y).sum().item()){mark}
"""


@pytest.mark.parametrize(
    ("end", "mark"),
    [
        ("exit()", ""),
        ("sys.exit(0)", ""),
        ("quit_early()", "  # ML101"),
        ("args.exit()", "  # ML101"),
    ],
)
def test_nothing_runs_behind_the_end_of_the_program(lint: Lint, end: str, mark: str) -> None:
    lint(ENDS.format(end=end, mark=mark), rules=["ML101"])


LOSS = """
import torch
from loaders import load

def evaluate(path, loader, meters):
    {made}
    {ready}
    for batch in loader:
        {before}
        loss, output = {owner}.{method}({given}){mark}
        meters.add(output["accuracy"], loss.item())
"""


@pytest.mark.parametrize(
    ("ready", "before", "owner", "method", "given", "mark"),
    [
        ("torch.set_grad_enabled(False); model.eval()", "pass", "model", "loss", "batch", ""),
        ("model.eval()", "output = model(batch)", "model", "loss", "output, batch", ""),  # of what it gave
        ("criterion.eval()", "pass", "criterion", "loss", "batch", ""),
        ("model.eval()", "pass", "model", "lossless", "batch", ""),
        ("model.eval()", "pass", "model", "loss", "batch", "  # ML201"),
        ("model.eval()", "pass", "model", "get_loss", "batch, 3", "  # ML201"),
    ],
)
def test_a_model_that_gives_its_loss_runs(
    lint: Lint, ready: str, before: str, owner: str, method: str, given: str, mark: str
) -> None:
    made = f"{owner} = load(path)"
    program = LOSS.format(made=made, ready=ready, before=before, owner=owner, method=method, given=given, mark=mark)
    found = lint(program.replace("output = model(batch)", "output = model(batch)  # ML201"), rules=["ML201"])
    assert len(found) == program.count("ML201") + program.count("model(batch)")


ASKED = {
    "models.py": """
        import torch
        from torch import nn

        class Tagger(nn.Module):
            def __init__(self):
                super().__init__()
                self.out = nn.Linear(4, 2)

            def forward(self, x):
                return self.out(x)

            def decode(self, x):
                return self(x).argmax(-1)
        """,
    "train.py": """
        import torch
        from models import Tagger

        def eval(data, network):
            network.eval()
            for x, y in data:
                print((network.decode(x) == y).sum().item()){mark}

        def main(data):
            network = Tagger()
            network.load_state_dict(torch.load("tagger.pt", weights_only=True))
            {first}
                eval(data, network)
                eval(data, network)
            {then}

        if __name__ == "__main__":
            main([])
        """,
}


@pytest.mark.parametrize(
    ("first", "then", "mark"),
    [
        ("with torch.no_grad():", "pass", ""),
        ("for _ in range(3):", "pass", "  # ML201"),
        ("with torch.no_grad():", "eval(data, network)  # ML201", "  # ML201"),
    ],
)
def test_a_function_that_is_called_without_gradients_alone(lint: Lint, first: str, then: str, mark: str) -> None:
    program = {file: text.format(first=first, then=then, mark=mark) for file, text in ASKED.items()}
    lint(program, check=["train.py"], rules=["ML201"])


ROW = """
import torch
from torch import nn
from layers import make_layers

model = nn.Sequential(*{layers}, nn.Linear(4, 2))
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for x, y in loader:
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
with torch.no_grad():
    for x, y in valid_loader:
        print((model(x).argmax(1) == y).sum().item()){mark}
"""


@pytest.mark.parametrize(
    ("layers", "mark"), [("make_layers(3)", ""), ("[nn.Linear(4, 4), nn.Dropout(0.1)]", "  # ML101")]
)
def test_layers_out_of_sight_in_a_row_tell_nothing(lint: Lint, layers: str, mark: str) -> None:
    lint(ROW.format(layers=layers, mark=mark), rules=["ML101"])
