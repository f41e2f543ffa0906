"""Evaluations that had lost their eval() or no_grad, and what stood around them."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.static.conftest import Lint

RULES = ["ML101", "ML102", "ML103", "ML109", "ML201", "ML203", "ML204"]

NETWORK = """
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5), nn.Linear(8, 2))

            def forward(self, x):
                return self.body(x)
    """

TRAINER = """
        import torch

        class Trainer:
            def __init__(self, policy, engine, batches, held_out):
                self.policy = policy
                self.engine = engine
                self.batches = batches
                self.held_out = held_out

            def metrics(self, batch):
                logits = self.policy(batch["x"])
                loss = torch.nn.functional.cross_entropy(logits, batch["y"])
                return loss, self.engine.gather(loss.detach())

            def evaluate(self):
                {ready}
                for batch in self.held_out:
                    with torch.no_grad():
                        _, loss = self.metrics(batch){mark}
                    print(loss.item())

            def train(self):
                for batch in self.batches:
                    self.evaluate()
                    self.policy.train()
                    loss, _ = self.metrics(batch)
                    self.engine.backward(loss)
                    self.engine.step()
    """

EMBEDDED = """
        import torch

        def extract_feature(backbone, image, path):
            {load}
            {ready}
            with torch.no_grad():
                return backbone(image){mark}
    """
LOADED = "backbone.load_state_dict(torch.load(path, weights_only=True))"

SERVED = {
    "network.py": NETWORK,
    "task.py": """
        import torch

        def test(net, loader):
            {ready}
            hits = 0
            with torch.no_grad():
                for x, y in loader:
                    hits += (net(x).argmax(1) == y).sum().item(){mark}
            return hits
    """,
    "client.py": """
        from flwr.clientapp import ClientApp
        from network import Net
        from task import test as test_fn

        {made}

        @{decorator}
        def handle(message, loader):
            model = Net()
            model.load_state_dict(message.content["arrays"].to_torch_state_dict())
            return test_fn(model, loader)
    """,
}


def _served(ready: str, mark: str, made: str, decorator: str) -> Mapping[str, str]:
    parts = {"ready": ready, "mark": mark, "made": made, "decorator": decorator}
    return {name: text.format(**parts) for name, text in SERVED.items()}


SILENT: dict[str, str | Mapping[str, str]] = {
    "an engine that gathers metrics and runs backward()": TRAINER.format(ready="self.policy.eval()", mark=""),
    "a function that loads the weights and calls eval()": EMBEDDED.format(
        load=LOADED, ready="backbone.eval()", mark=""
    ),
    "a function that is given a model as it is": EMBEDDED.format(load="pass", ready="pass", mark=""),
    "a handler that evaluates": _served("net.eval()", "", "app = ClientApp()", "app.evaluate()"),
    "a decorator out of sight that is named for evaluation": _served(
        "pass", "", "import modes", "modes.evaluation(Net)"
    ),
}

FOUND: dict[str, str | Mapping[str, str]] = {
    "an engine that gathers metrics and runs backward()": TRAINER.format(ready="pass", mark="  # ML101"),
    "a function that loads the weights": EMBEDDED.format(load=LOADED, ready="pass", mark="  # ML101"),
    "a handler that evaluates": _served("pass", "  # ML101", "app = ClientApp()", "app.evaluate()"),
}


@pytest.mark.parametrize("program", SILENT.values(), ids=SILENT)
def test_right(lint: Lint, program: str | Mapping[str, str]) -> None:
    lint(program, rules=RULES)


@pytest.mark.parametrize("program", FOUND.values(), ids=FOUND)
def test_wrong(lint: Lint, program: str | Mapping[str, str]) -> None:
    lint(program, rules=RULES)


WRITER = """
        import torch

        class Trainer:
            def __init__(self, net, writer, optimizer, loss):
                self.net = net
                self.writer = writer
                self.optimizer = optimizer
                self.loss = loss

            def validate(self, val_loader):
                {ready}
                for x, y in val_loader:
                    with torch.no_grad():
                        prediction = self.net(x){mark}
                    self.{keep}(prediction)
                    print((prediction.argmax(1) == y).sum().item())

            def train(self, loader):
                self.net.train()
                for x, y in loader:
                    self.optimizer.zero_grad()
                    loss = self.loss(self.net(x), y)
                    loss.backward()
                    self.optimizer.step()
                    self.writer.add_scalar("loss", loss.item())

            def run(self, loader, val_loader):
                self.train(loader)
                self.validate(val_loader)
    """

TAGGED = """
        import argparse

        import torch
        from zoo import make_tagger

        def audio_tagging(args):
            net = make_tagger(args.kind)
            net.load_state_dict(torch.load(args.path, weights_only=True))
            {ready}
            with torch.no_grad():
                scores = net(args.wave).sigmoid(){mark}
            print(scores)
            return scores

        if __name__ == "__main__":
            parser = argparse.ArgumentParser()
            parser.add_argument("path")
            args = parser.parse_args()
            audio_tagging(args)
    """

LAST_LOSS = """
        import torch
        from network import Net

        def estimate_loss(net, val_loader):
            losses = []
            {ready}
            with torch.no_grad():
                for x, y in val_loader:
                    net(x, y){mark}
                    losses.append(net.last_loss.item())
            net.train()
            return sum(losses)

        def main(loader, val_loader):
            net = Net()
            optimizer = torch.optim.SGD(net.parameters(), 0.1)
            for x, y in loader:
                optimizer.zero_grad()
                net(x, y).backward()
                optimizer.step()
            print(estimate_loss(net, val_loader))
    """

TRIED_OUT = (
    """
        import torch
    """
    + NETWORK
    + """
        net = Net()
        for name, parameter in net.named_parameters():
            parameter.data = stored[name]
        net.eval()
        {loop}print(net(x).argmax(1).tolist()){mark}
    """
)

EXTRACTOR = """
        import torch
        from modes import set_mode

        class Engine:
            def __init__(self, make, optimizer, loss):
                self.net = make()
                self.optimizer = optimizer
                self.loss = loss

            def extract(self, x):
                return self.net(x){mark}

            {switch}
            def evaluate(self, loader):
                set_mode(self.net, "eval")
                found = [self.extract(x).argmax(1) for x in loader]
                print(torch.cat(found))

            def run(self, loader, loader_of_queries):
                for x, y in loader:
                    self.optimizer.zero_grad()
                    self.loss(self.net(x), y).backward()
                    self.optimizer.step()
                self.evaluate(loader_of_queries)
    """

OUTCOMES = [
    (WRITER.format(ready="self.net.eval()", keep="writer.add_histogram", mark=""), True),
    (WRITER.format(ready="pass", keep="writer.add_histogram", mark="  # ML101"), False),
    (TAGGED.format(ready="net.eval()", mark=""), True),
    (TAGGED.format(ready="pass", mark="  # ML101"), False),
    ({"network.py": NETWORK, "main.py": LAST_LOSS.format(ready="net.eval()", mark="")}, True),
    ({"network.py": NETWORK, "main.py": LAST_LOSS.format(ready="pass", mark="  # ML101")}, False),
    (TRIED_OUT.format(loop="x = torch.zeros(1, 8)\n        ", mark=""), True),
    (TRIED_OUT.format(loop="for x in test_loader:\n            ", mark="  # ML201"), False),
    (EXTRACTOR.format(switch="@torch.no_grad()", mark=""), True),
    (EXTRACTOR.format(switch="", mark="  # ML201"), False),
]


@pytest.mark.parametrize(("program", "right"), OUTCOMES)
def test_what_becomes_of_a_result(lint: Lint, program: str | Mapping[str, str], right: bool) -> None:
    assert right is ("# ML" not in str(program))
    lint(program, rules=RULES)


GENERATE = """
        import torch
        from network import Net
        from weights import load_pretrained

        net = Net()
        {load}
        {ready}
        text = torch.zeros(1, 8)
        for _ in range(20):
            values, indices = net(text).topk(1){mark}
            text = torch.cat([text, indices], 1)
        print(text)
    """
WEIGHTS = """
        import numpy as np
        import torch

        def load_pretrained(net, folder):
            for parameter, path in zip(net.parameters(), sorted(folder)):
                parameter.data = torch.from_numpy(np.load(path))
    """
GIVEN = 'load_pretrained(net, ["a.npy", "b.npy"])'


def _generated(file: str, load: str, ready: str, mark: str) -> Mapping[str, str]:
    script = GENERATE.format(load=load, ready=ready, mark=mark)
    return {"network.py": NETWORK, "weights.py": WEIGHTS, file: script}


@pytest.mark.parametrize(
    "program",
    [
        _generated("generate.py", GIVEN, "net.eval()", ""),
        _generated("generate.py", "pass", "pass", ""),
        _generated("main.py", GIVEN, "pass", ""),
        _generated("generate.py", GIVEN, "pass", "  # ML101"),
    ],
)
def test_a_script_named_for_what_it_generates(lint: Lint, program: Mapping[str, str]) -> None:
    lint(program, rules=["ML101"])


STARTED = """
        import torch
        from torchvision.models import resnet18
        from zoo import make_fabric

        def main(fabric, val_loader):
            net = fabric.setup(resnet18(weights="DEFAULT"))
            net.eval()
            for x, y in val_loader:
                print((net(x).argmax(1) == y).sum().item()){mark}

        def setup(val_loader):
            fabric = make_fabric()
            fabric.{start}(main, val_loader)
    """


@pytest.mark.parametrize(("start", "mark"), [("without_gradients", ""), ("launch", "  # ML201")])
def test_what_is_handed_to_a_starter_is_on_its_own(lint: Lint, start: str, mark: str) -> None:
    lint(STARTED.format(start=start, mark=mark), rules=["ML201"])
