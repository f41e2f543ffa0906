"""Held-out data in nested loops, methods that are called through their class, pools in attributes, parts switched."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint

NESTED = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)
        self.drop = nn.Dropout()

    def forward(self, x):
        return self.drop(self.fc(x))

def train(data, epochs, {outer}):
    net = Net()
    opt = torch.optim.Adam(net.parameters())
    for epoch in range(epochs):
        for step in range(data.num_batches):
            xs, ys = data.next_batch()
            for i in range(data.batch_size):
                opt.zero_grad()
                loss = ((net(xs[i]) - ys[i]) ** 2).sum()
                loss.backward()
                opt.step()
        total = 0
        for {turn}:
            xs, ys = data.draw()
            for i in range(data.batch_size):
                {extra}
                total += ((net(xs[i]) - ys[i]) ** 2).sum().item(){mark}
        print(total)
"""
FIT = "opt.zero_grad(); net(xs[i]).sum().backward(); opt.step()"


@pytest.mark.parametrize(
    ("turn", "extra", "mark"),
    [
        ("values in grid", "pass", ""),
        ("device in devices", "pass", ""),
        ("image in test_images", FIT, ""),
        ("step in range(data.valid_num_batches)", "pass", "  # ML101, ML201"),
        ("batch in test_loader", "pass", "  # ML101, ML201"),
    ],
)
def test_a_loop_that_counts_is_a_part_of_the_one_around_it(lint: Lint, turn: str, extra: str, mark: str) -> None:
    code = NESTED.format(outer="grid, devices, test_images, test_loader", turn=turn, extra=extra, mark=mark)
    lint(code, rules=["ML101", "ML201"])


BY_CLASS = """
import torch
from torch import nn
from torch.utils.data import DataLoader
from torchvision import transforms
from torchvision.datasets import ImageFolder

class Trainer:
    def run(path, held_out):
        net = nn.Sequential(nn.Linear(3, 3), nn.Dropout())
        parts = []
        parts.append({transform})
        parts.append(transforms.ToTensor())
        both = transforms.Compose(parts)
        train_loader = DataLoader(ImageFolder(path, transform=both), batch_size=3, shuffle=True)
        val_loader = DataLoader(ImageFolder(held_out, transform=both), batch_size=3)
        opt = torch.optim.SGD(net.parameters(), 0.1)
        for epoch in range(3):
            Trainer.fit(net, train_loader, opt)
            print({call}.check(net, val_loader))

    def fit(net, loader, opt):
        net.train()
        for x, y in loader:
            opt.zero_grad()
            net(x).sum().backward()
            opt.step()

    {decorator}
    def check({first}net, loader):
        net.eval()
        with torch.no_grad():
            return sum((net(x).argmax(1) == y).sum().item() for x, y in loader)
"""
RANDOM = "transforms.RandomResizedCrop(224)"


@pytest.mark.parametrize(
    ("transform", "call", "decorator", "first"),
    [
        ("transforms.CenterCrop(224)", "Trainer", "", ""),
        (RANDOM, "Trainer", "", ""),
        (RANDOM, "Trainer", "@staticmethod", ""),
        (RANDOM, "Trainer", "@classmethod", "cls, "),
        (RANDOM, "Trainer()", "", "self, "),
    ],
)
def test_a_method_that_is_called_through_its_class(
    lint: Lint, transform: str, call: str, decorator: str, first: str
) -> None:
    code = BY_CLASS.format(transform=transform, call=call, decorator=decorator, first=first)
    line = "val_loader = DataLoader(ImageFolder(held_out, transform=both), batch_size=3)"
    lint(code.replace(line, line + "  # ML305" * (transform == RANDOM)), rules=["ML305"])


HIDDEN = """
import torch
from torch.utils.data import DataLoader

class Base:
    def __init__(self, rows):
        self.rows = rows
        self.shuffle = True

    def build(self, shuffle=True):
        return DataLoader(self.rows, batch_size=4, shuffle=self.shuffle and shuffle)

class Heir(Base):
    def __init__(self, rows):
        super().__init__(rows)
        self.shuffle = False

    def build(self, shuffle=True):
        return Base.build(self, shuffle)

class rows:
    def build(self, shuffle=True):
        return DataLoader(self.data, batch_size=4, shuffle=shuffle)

def test(net, rows):
    net.eval()
    with torch.no_grad():
        return [net(x).argmax(-1).tolist() for x in rows.build(False)]

def predict(net, data):
    net.eval()
    with torch.no_grad():
        return [net(x).argmax(-1).tolist() for x in Heir(data).build()]
"""


def test_a_variable_hides_a_class_and_an_heir_hands_itself_on(lint: Lint) -> None:
    lint(HIDDEN, rules=["ML306"])


POOL = """
import asyncio
import concurrent.futures
import torch
from torchvision.models import resnet18

class Worker:
    def __init__(self, path):
        self.net = resnet18()
        self.net.load_state_dict(torch.load(path, weights_only=True))
        self.net.eval()
        self.pool = concurrent.futures.{pool}

    def _one(self, x):
        return self.net(x).argmax(-1).item(){mark}

    def ask(self, x):
        with torch.no_grad():
            return self.pool.submit(self._one, x).result()

    async def wait(self, loop, x):
        with torch.no_grad():
            return await loop.run_in_executor(self.pool, self._one, x)
"""


@pytest.mark.parametrize(
    ("pool", "mark"),
    [
        ("ProcessPoolExecutor(2)", ""),
        ("ThreadPoolExecutor(2, initializer=torch.set_grad_enabled, initargs=(False,))", ""),
        ("ThreadPoolExecutor(2)", "  # ML201"),
    ],
)
def test_the_threads_of_a_pool_that_an_object_keeps_record(lint: Lint, pool: str, mark: str) -> None:
    lint(POOL.format(pool=pool, mark=mark), rules=["ML201"])


PARTS = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 3, 3)
        self.bn = nn.BatchNorm2d(3)

    def predict(self, x, mode):
        if mode == "inference":
            self.eval()
        elif mode == "training":
            self.train()

            def freeze(m):
                if m.__class__.__name__.find("BatchNorm") != -1:
                    m.eval()

            {switch}
        return self.bn(self.conv(x))

    def valid_epoch(self, loader):
        total = 0
        for x, y in loader:
            with torch.no_grad():
                total += (self.predict(x, mode="training") - y).abs().mean().item(){mark}
        return total

    def train_epoch(self, loader, opt):
        for x, y in loader:
            opt.zero_grad()
            (self.predict(x, mode="training") - y).abs().mean().backward()
            opt.step()
"""


@pytest.mark.parametrize(
    ("switch", "mark"),
    [
        ("self.apply(freeze)", ""),
        ("[freeze(m) for m in self.modules()]", ""),
        ("print(freeze)", "  # ML101"),
    ],
)
def test_parts_that_are_switched_one_by_one_are_in_no_known_mode(lint: Lint, switch: str, mark: str) -> None:
    lint(PARTS.format(switch=switch, mark=mark), rules=["ML101"])


RANKS = {
    "evaluation.py": """
        from ranks import score_rank

        class Evaluator:
            def __init__(self, model, size):
                self.model = model
                self.ranks = [0] * size

            def evaluate(self, batches):
                for i, (h, t) in enumerate(batches):
                    scores = self.model.inference_scoring_function(h, t){mark}
                    self.ranks[i] = score_rank(scores, t).detach()
        """,
    "ranks.py": """
        import torch

        BANK = {{}}

        def score_rank(data, true):
            {keep}
            return (data >= data.gather(1, true.long().view(-1, 1))).sum(dim=1)
        """,
    "train.py": """
        from evaluation import Evaluator

        def fit(model, criterion, batches, optimizer):
            for h, t in batches:
                optimizer.zero_grad()
                criterion(model(h), t).backward()
                optimizer.step()
            Evaluator(model, 3)
        """,
}


@pytest.mark.parametrize(
    ("keep", "mark"),
    [('BANK["scores"] = data', ""), ("true.receive(data)", ""), ("true = true.clone()", "  # ML201")],
)
def test_a_helper_that_only_computes_keeps_no_graph(lint: Lint, keep: str, mark: str) -> None:
    files = {name: text.format(keep=keep, mark=mark) for name, text in RANKS.items()}
    lint(files, check=["evaluation.py"], rules=["ML201"])


SCORES = """
from abc import abstractmethod
from torch import nn

class Base(nn.Module):
    def predict_scores(self, triples):
        {body}

    @abstractmethod
    def score(self, triples):
        raise NotImplementedError

class Evaluator:
    def __init__(self, model=None):
        self.model = model

    def rank(self, model: Base, pos):
        return model.predict_scores(pos).sum().item(){mark}

    def evaluate(self, triples):
        self.model = self.model.eval()
        return [self.rank(self.model, pos) for pos in triples]
"""


@pytest.mark.parametrize(
    ("body", "mark"), [("return triples.new_zeros(3)", ""), ("return self.score(triples)", "  # ML201")]
)
def test_a_method_runs_what_heirs_define(lint: Lint, body: str, mark: str) -> None:
    lint(SCORES.format(body=body, mark=mark), rules=["ML201"])


FORCES = {
    "layers.py": """
        import torch
        from torch import nn

        class Forces(nn.Module):
            def forward(self, x):
                energy = x.pow(2).sum()
                return {result}
        """,
    "compare.py": """
        import torch
        from saved import load

        def evaluate_pair(model, other, data):
            ones, twos = [], []
            for x in data:
                one = model(x){mark}
                two = other(x)
                ones.append(one.detach().double())
                twos.append(two.detach().double())
            error = torch.max(torch.abs(torch.stack(ones) - torch.stack(twos))).item()
            print(error)

        def main(path):
            model, other = load(path), load(path)
            evaluate_pair(model, other, [])

        if __name__ == "__main__":
            main("x")
        """,
}


@pytest.mark.parametrize(("result", "mark"), [("-torch.autograd.grad(energy, x)[0]", ""), ("energy", "  # ML201")])
def test_networks_of_a_project_that_differentiate_need_autograd(lint: Lint, result: str, mark: str) -> None:
    files = {name: text.format(result=result, mark=mark) for name, text in FORCES.items()}
    lint(files, check=["compare.py"], rules=["ML201"])


BUILT = """
import torch
import timm
from helpers import build_view

def answer(image):
    net = timm.create_model("resnet18").eval()
    view = build_view(net.{asked})
    with torch.no_grad():
        return net(view(image)).argmax(-1).item(){mark}
"""


@pytest.mark.parametrize(
    ("asked", "mark"),
    [("features", ""), ("conv1", ""), ("visual.image_size", "  # ML401"), ("num_features", "  # ML401")],
)
def test_who_reads_a_size_of_a_model_gives_it_no_weights(lint: Lint, asked: str, mark: str) -> None:
    lint(BUILT.format(asked=asked, mark=mark), rules=["ML401"])
