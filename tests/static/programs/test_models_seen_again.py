"""Networks that were lost on their way: made in vain, copied from options, parts by a name, kept in lists of models."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.static.conftest import Lint
from tests.static.programs.networks import NET

IN_VAIN = """
        import torch
        from registry import KINDS

        class Auto:
            @classmethod
            def from_pretrained(cls, path, config):
                for kind, made in KINDS.items():
                    if isinstance(config, kind):
                        return made.from_pretrained(path)
                raise ValueError(path)

        def main(path, config, test_loader):
            {NAME} = Auto.from_pretrained(path, config)
            {NAME}.eval()
            for batch in test_loader:
                print({NAME}(batch).argmax(1).item()){MARK}
"""
PROPERTY = """
        import torch

        class Trainer:
            def __init__(self):
                self._model = None

            def build(self, **options):
                model, options = prepare(self.make)(**options)
                self._model = model.cuda()

            def make(self, **options):
                raise NotImplementedError

            @property
            def model(self):
                return self._model

            @model.setter
            def model(self, value):
                self._model = value

            {SWITCH}
            def test_step(self, loader):
                model = self.model
                model.eval()
                for batch in loader:
                    print(model(batch).argmax(1)){MARK}
"""
PARTS = """
        import torch

        class Demo:
            def __init__(self, model):
                self.model = model
                self.model.eval()

            {SWITCH}
            def infer(self, image):
                found = self.model.{PART}(image){MARK}
                return (torch.sigmoid(found) > 0.5).cpu().numpy()
"""
BUNCH = """
        import torch
        from munch import Munch
        from net import Net

        def build():
            return Munch(encoder=Net(), decoder=Net())

        def main(loader, val_loader, optimizer, loss_fn):
            model = build()
            for epoch in range(9):
                _ = [model[key].train() for key in model]
                for x, y in loader:
                    optimizer.zero_grad()
                    loss_fn(model.decoder(model.encoder(x)), y).backward()
                    optimizer.step()
                {READY}
                with torch.no_grad():
                    for x, y in val_loader:
                        print(model.encoder(x).argmax(1).item()){MARK}
"""
AROUND = """
        import torch
        from torch import nn
        import resnets

        class Around(nn.Module):
            def __init__(self, resnet):
                super().__init__()
                self.resnet = resnet

            def forward(self, x):
                return self.resnet.layer1(self.resnet.conv1(x))

        class Loader:
            def __init__(self, name):
                self.net = getattr(resnets, name)()
                self.net.load_state_dict(torch.load("net.pt", weights_only=True))
                self.net = Around(self.net)
                self.net.eval()

            {SWITCH}
            def get_batch(self, image):
                found = self.net(image){MARK}
                return found.data.cpu().numpy()
"""
CLOCK = """
        import time
        import torch
        from net import Net

        net = Net()
        net.eval()
        x = torch.rand(4, 8)
        times = []
        for i in range(100):
            {BEFORE}
            with {SWITCH}:
                net(x){MARK}
            {AFTER}
"""
EMBEDDINGS = """
        import torch
        from net import Net
        from data import make_loaders

        def get_embeddings(table, path{GIVEN}):
            loader = make_loaders(table, mode="valid")
            {MAKES}
            net.load_state_dict(torch.load(path, weights_only=True))
            net.eval()
            found = []
            with {SWITCH}:
                for batch in loader:
                    found.append(net(batch)){MARK}
            return torch.cat(found)
"""
NAMED = """
        import torch
        from torch import nn
        from net import Net

        class Encoder(nn.Module):
            def __init__(self, size, {PARAMETER}):
                super().__init__()
                {BUILDS}

            def forward(self, x):
                return self.net(x)

        def embed(loader, model, args):
            {READY}
            with torch.no_grad():
                return [model(batch).cpu() for batch in loader]{MARK}

        def main(args, test_loader):
            model = Encoder(args.size, args.model)
            model.load_state_dict(torch.load(args.path, weights_only=True))
            print(embed(test_loader, model, args))
"""
COPIED = """
        import copy
        import torch

        class Client:
            def __init__(self, args):
                self.model = {COPY}
                self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)

            def train(self, loader, loss_fn):
                self.model.train()
                for x, y in loader:
                    self.optimizer.zero_grad()
                    loss_fn(self.model(x), y).backward()
                    self.optimizer.step()

            def evaluate(self, test_loader):
                {READY}
                with torch.no_grad():
                    return [self.model(x).argmax(1).tolist() for x, _ in test_loader]{MARK}
"""
SUMMED = """
        import torch
        from net import Net

        def fit(net, losses_of, loader, genval, optimizer):
            val_loss = 0
            net.train()
            for x, y in loader:
                optimizer.zero_grad()
                loss = {SUM}([criterion(net(x), y) for criterion in losses_of])
                loss.backward()
                optimizer.step()
            {READY}
            with torch.no_grad():
                for images_val, y in genval:
                    outputs = net(images_val){MARK}
                    losses = []
                    for i in range(3):
                        losses.append(losses_of[i](outputs[i], y))
                    val_loss += {SUM}(losses)
            print(val_loss.item())

        net = Net()
        net.train()
        for epoch in range(9):
            fit(net, criteria, loader, genval, torch.optim.SGD(net.parameters(), 0.1))
"""
OWN_METHOD = """
        import torch
        from torch import nn

        class Vocoder(nn.Module):
            def __init__(self):
                super().__init__()
                self.enc = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.1))
                self.dec = nn.Linear(8, 2)

            def forward(self, x):
                return self.dec(self.enc(x))

            def infer(self, x):
                return self.dec(self.enc(x)).clamp(0, 1)

        def validate(model, valloader):
            model.eval()
            for x in valloader:
                print(model.infer(x).argmax(1).item())
            {BACK}

        def train(trainloader, valloader, rank):
            model = Vocoder()
            optimizer = torch.optim.Adam(model.parameters())
            model.train()
            for epoch in range(9):
                if rank == 0 and epoch % 5 == 0:
                    with torch.no_grad():
                        validate(model, valloader)
                for x, y in trainloader:
                    optimizer.zero_grad()
                    (model(x) - y).abs().mean().backward(){MARK}
                    optimizer.step()
"""
LISTED = """
        import torch
        from torch import nn

        class Validator:
            def __init__(self, loader, loss_fn):
                self.loader, self.loss_fn = loader, loss_fn

            {SWITCH}
            def validate(self, model_parts: list[nn.Module]):
                for model in model_parts:
                    model.eval()
                losses = []
                for x, y in self.loader:
                    found = model_parts[0](x){MARK}
                    losses.append(self.loss_fn(found, y).detach())
                print(torch.stack(losses).mean().item())
"""
ASKED = """
        import torch

        def evaluate_accuracy(net, data_iter):
            if isinstance(net, torch.nn.Module):
                net.eval()
            hits = count = 0
            with {SWITCH}:
                for x, y in data_iter:
                    hits += (net(x).argmax(1) == y).sum().item(){MARK}
                    count += len(y)
            return hits / count

        def train(net, train_iter, test_iter, loss, updater):
            for epoch in range(9):
                net.train()
                for x, y in train_iter:
                    loss(net(x), y).backward()
                    updater.step()
                print(evaluate_accuracy(net, test_iter))
"""
TRACKING = """
        import torch
        from net import Net

        class Tracker(Net):
            def tracking(self):
                self.eval()

        def build(args):
            if args.tracking:
                return Tracker()
            return Net()

        def main(args, test_loader):
            net = build(args)
            net.load_state_dict(torch.load(args.path, weights_only=True))
            {READIES}
            with torch.no_grad():
                for x in test_loader:
                    print(net(x).argmax(1)){MARK}
"""
KEYWORDS = """
        import torch
        from torch import nn

        class Lit(nn.Module):
            def __init__(self, model_class):
                super().__init__()
                self.model = model_class()
                self.drop = nn.Dropout(0.1)

        def heat(path, feats):
            lit = Lit(pick(path))
            lit.load_state_dict(torch.load(path, weights_only=True))
            lit.eval()
            with {SWITCH}:
                score = lit.model(bags=feats, mask=None){MARK}
            print(score.argmax().item())
"""


def program(text: str, mark: str = "", **filled: str) -> dict[str, str]:
    return {"net.py": NET, "run.py": text.format(MARK=mark, **filled)}


OFF, ON = "torch.no_grad()", "torch.autocast('cuda')"
AS_DECORATOR = "@torch.no_grad()"
PLAIN = "# no switch"
STARTS = ("start = time.time()", "times.append(time.time() - start)")
SILENT: dict[str, Mapping[str, str]] = {
    "what a followed call returns, by the name of something else": program(IN_VAIN, NAME="result"),
    "a property with a setter, under no_grad": program(PROPERTY, SWITCH=AS_DECORATOR),
    "a part by its name, under no_grad": program(PARTS, SWITCH=AS_DECORATOR, PART="image_encoder"),
    "a method by another name": program(PARTS, SWITCH=PLAIN, PART="resize"),
    "a bunch of networks that is switched": program(BUNCH, READY="_ = [model[key].eval() for key in model]"),
    "a wrapper of what it is given, under no_grad": program(AROUND, SWITCH=AS_DECORATOR),
    "a benchmark under no_grad": program(CLOCK, BEFORE=STARTS[0], AFTER=STARTS[1], SWITCH=OFF),
    "a forward that nobody times": program(CLOCK, BEFORE="pass", AFTER="pass", SWITCH=ON),
    "embeddings under no_grad": program(EMBEDDINGS, GIVEN="", MAKES="net = Net()", SWITCH=OFF),
    "embeddings of a network that is given": program(EMBEDDINGS, GIVEN=", net", MAKES="pass", SWITCH=OFF),
    "a network around one that is given": program(
        NAMED, PARAMETER="model", BUILDS="self.net = model", READY="print(args)"
    ),
    "a network of a name, switched": program(
        NAMED,
        PARAMETER='model="gin"',
        BUILDS="self.net = Net() if model == 'gin' else make(size)",
        READY="model.eval()",
    ),
    "a copy of a network that is switched": program(
        COPIED, COPY="copy.deepcopy(args.model)", READY="self.model.eval()"
    ),
    "losses that are summed, of a network that is switched": program(SUMMED, SUM="sum", READY="net.eval()"),
    "an evaluation by a method of its own that is undone": program(OWN_METHOD, BACK="model.train()"),
    "a list of models under no_grad": program(LISTED, SWITCH=AS_DECORATOR),
    "what is asked whether it is a module, under no_grad": program(ASKED, SWITCH=OFF),
    "a method that readies the one that has it": program(
        TRACKING, READIES='if hasattr(net, "tracking"):\n                net.tracking()'
    ),
    "a part that is given names, under no_grad": program(KEYWORDS, SWITCH=OFF),
}
FOUND: dict[str, Mapping[str, str]] = {
    "what a followed call returns, by the name of a model": program(IN_VAIN, "  # ML201", NAME="model"),
    "a property with a setter": program(PROPERTY, "  # ML201", SWITCH=PLAIN),
    "a part by its name": program(PARTS, "  # ML201", SWITCH=PLAIN, PART="image_encoder"),
    "a bunch of networks": program(BUNCH, "  # ML101", READY="pass"),
    "a wrapper of what it is given": program(AROUND, "  # ML201", SWITCH=PLAIN),
    "a benchmark": program(CLOCK, "  # ML201", BEFORE=STARTS[0], AFTER=STARTS[1], SWITCH=ON),
    "embeddings": program(EMBEDDINGS, "  # ML201", GIVEN="", MAKES="net = Net()", SWITCH=ON),
    "a network of a name": program(
        NAMED,
        "  # ML101",
        PARAMETER='model="gin"',
        BUILDS="self.net = Net() if model == 'gin' else make(size)",
        READY="print(args)",
    ),
    "a copy of a network": program(COPIED, "  # ML101", COPY="copy.deepcopy(args.model)", READY="pass"),
    "losses that are summed": program(SUMMED, "  # ML101", SUM="sum", READY="pass"),
    "an evaluation by a method of its own": program(OWN_METHOD, "  # ML103", BACK="pass"),
    "a list of models": program(LISTED, "  # ML201", SWITCH=PLAIN),
    "what is asked whether it is a module": program(ASKED, "  # ML201", SWITCH=ON),
    "a method that readies nothing": program(TRACKING, "  # ML101", READIES="net.requires_grad_(False)"),
    "a part that is given names": program(KEYWORDS, "  # ML201", SWITCH=ON),
}


@pytest.mark.parametrize("name", SILENT)
def test_silent(lint: Lint, name: str) -> None:
    lint(SILENT[name], rules=["ML101", "ML103", "ML201"])


@pytest.mark.parametrize("name", FOUND)
def test_found(lint: Lint, name: str) -> None:
    lint(FOUND[name], rules=["ML101", "ML103", "ML201"])


FORWARD = """
        import torch
        from torch import nn

        class Gan(nn.Module):
            def __init__(self):
                super().__init__()
                self.generator = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.1))
                self.critic = nn.Sequential(nn.Linear(8, 1), nn.Dropout(0.1))

            def forward(self, x):
                self.{SWITCHED}.eval()
                with torch.no_grad():
                    return self.generator(x)

            def generate(self, x):
                return self(x).cpu().numpy()MARK

        def train(gan, loader, optimizer):
            gan.train()
            for x, y in loader:
                optimizer.zero_grad()
                (gan.critic(gan.generator(x)) - y).abs().mean().backward()
                optimizer.step()

        def main(loader, x):
            gan = Gan()
            train(gan, loader, torch.optim.Adam(gan.parameters()))
            print(gan.generate(x))
"""


@pytest.mark.parametrize(("switched", "mark"), [("generator", ""), ("critic", "  # ML101")])
def test_a_forward_that_readies_the_parts_that_it_runs(switched: str, mark: str, lint: Lint) -> None:
    lint({"gan.py": FORWARD.replace("{SWITCHED}", switched).replace("MARK", mark)}, rules=["ML101"])


NORMS = """
        import torch
        from torch import nn

        def get_norm(norm, channels):
            norm = {"bn": nn.BatchNorm2d, "none": nn.Identity}[norm]
            return norm(channels)

        class Net(nn.Module):
            def __init__(self, norm):
                super().__init__()
                self.conv = nn.Conv2d(3, 8, 3)
                self.norm = get_norm(norm, 8)

            def forward(self, x):
                return self.norm(self.conv(x))

        def validate(net, val_loader):
            net.eval()
            with torch.no_grad():
                print(sum((net(x) - y).abs().mean().item() for x, y in val_loader))
            BACK

        def main(args, loader, val_loader):
            net = Net(args.norm)
            optimizer = torch.optim.Adam(net.parameters())
            net.train()
            for step, (x, y) in enumerate(loader):
                optimizer.zero_grad()
                (net(x) - y).abs().mean().backward()MARK
                optimizer.step()
                if step % 1000 == 0:
                    validate(net, val_loader)
"""


@pytest.mark.parametrize(("back", "mark"), [("net.train()", ""), ("pass", "  # ML103")])
def test_a_norm_that_a_table_names_depends_on_the_mode(back: str, mark: str, lint: Lint) -> None:
    lint({"run.py": NORMS.replace("BACK", back).replace("MARK", mark)}, rules=["ML103"])


EPOCH = """
        import torch
        from torch import Tensor
        from net import Net

        class Learner:
            def __init__(self, loader):
                self.model, self.loader = Net(), loader
                self.optimizer = torch.optim.Adam(self.model.parameters())

            def train_step(self, x, y):
                loss = (self.model(x) - y).abs().mean()
                return {"train_loss": loss, "rows": len(y)}

            def train_epoch(self):
                self.model.train()
                outputs = []
                for x, y in self.loader:
                    self.optimizer.zero_grad()
                    output = self.train_step(x, y)
                    output["train_loss"].backward()
                    self.optimizer.step()
                    REWRITES
                    outputs.append(output)MARK
                return outputs
"""
NEXT = "\n                        "


@pytest.mark.parametrize(
    ("rewrites", "right"),
    [
        (f"for k, v in output.items():{NEXT}output[k] = v.detach() if isinstance(v, Tensor) else v", True),
        (f"for k, v in output.items():{NEXT}output[k] = v.item() if torch.is_tensor(v) else v", True),
        (f"for k, v in output.items():{NEXT}output[k] = v.item() if hasattr(v, 'detach') else v", True),
        (f"for k, v in output.items():{NEXT}output[k] = v if isinstance(v, Tensor) else float(v)", False),
        (f"for k, v in output.items():{NEXT}print(k, v.detach())", False),
        ("pass", False),
    ],
)
def test_a_loop_that_replaces_all_values_of_a_dict(rewrites: str, right: bool, lint: Lint) -> None:
    text = EPOCH.replace("REWRITES", rewrites).replace("MARK", "" if right else "  # ML204")
    lint({"net.py": NET, "run.py": text}, rules=["ML204"])


LIBRARY = """
        import torch
        from torch import nn
        from torchvision import models

        class Chest(nn.Module):
            def __init__(self):
                super().__init__()
                self.net = {BUILDS}
                {MORE}

            def forward(self, x):
                return self.net(x)

        def main(path, test_loader):
            model = Chest()
            {LOADS}
            {READY}
            with torch.no_grad():
                for x in test_loader:
                    print(model(x).argmax(1)){MARK}
"""
LOADS = "if path:\n                model.load_state_dict(torch.load(path, weights_only=True))"


@pytest.mark.parametrize(
    ("builds", "more", "loads", "ready", "mark"),
    [
        ("models.densenet121(pretrained=True)", "pass", LOADS, "model.eval()", ""),
        ("models.vgg16(pretrained=True).features", "pass", LOADS, "pass", ""),
        ("models.resnet50(norm_layer=nn.GroupNorm)", "pass", LOADS, "pass", ""),
        ("models.resnet50(pretrained=True)", "self.net = freeze(self.net)", LOADS, "pass", ""),
        ("models.resnet50(pretrained=True)", "self.head = nn.Linear(1000, 10)", "pass", "pass", ""),
        ("models.densenet121(pretrained=True)", "pass", LOADS, "pass", "  # ML101"),
        ("models.resnet50(pretrained=True)", "self.head = nn.Linear(1000, 10)", LOADS, "pass", "  # ML101"),
    ],
)
def test_networks_of_torchvision_that_depend_on_the_mode(
    builds: str, more: str, loads: str, ready: str, mark: str, lint: Lint
) -> None:
    text = LIBRARY.format(BUILDS=builds, MORE=more, LOADS=loads, READY=ready, MARK=mark)
    lint({"run.py": text}, rules=["ML101"])
