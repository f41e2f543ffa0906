"""Branches: joined where they meet, kept apart where the same condition is asked again."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint

SILENT = {
    "phases that are members of an enumeration, a stray comma and all": """
        import enum
        import torch

        class Phase(enum.Enum):
            TRAIN = 0,
            VAL = 1

        def run(net, optimizer, x, phase):
            if phase == Phase.TRAIN:
                net.train()
            else:
                net.eval()
            loss = net(x).mean()
            if phase is Phase.TRAIN:
                loss.backward()
                optimizer.step()
            else:
                print(loss.item())

        def main(net, optimizer, loader):
            for x in loader:
                run(net, optimizer, x, Phase.TRAIN)
            with torch.no_grad():
                run(net, optimizer, x, Phase.VAL)
        """,
    "the same flag asked twice": """
        import torch
        from torchvision.models import resnet18

        def main(args, x):
            net = resnet18(weights="DEFAULT")
            if args.test:
                net.eval()
            print("ready")
            if args.test:
                with torch.no_grad():
                    print(net(x).argmax(-1))
        """,
    "the negated flag": """
        import torch
        from torchvision.models import resnet18

        def main(args, x, loader, loss_fn):
            net = resnet18(weights="DEFAULT")
            optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
            if not args.train:
                net.eval()
            if args.train:
                for a, b in loader:
                    optimizer.zero_grad()
                    loss_fn(net(a), b).backward()
                    optimizer.step()
            else:
                with torch.no_grad():
                    print(net(x).argmax(-1))
        """,
    "a flag compared with a word": """
        import torch
        from torchvision.models import resnet18

        def main(mode, x):
            net = resnet18(weights="DEFAULT")
            if mode == "train":
                net.train()
            else:
                net.eval()
            if mode != "train":
                with torch.no_grad():
                    print(net(x).argmax(-1))
        """,
    "every branch sets the mode": """
        import torch
        from torchvision.models import resnet18, resnet50

        def main(name, x):
            if name == "small":
                net = resnet18(weights="DEFAULT").eval()
            elif name == "large":
                net = resnet50(weights="DEFAULT").eval()
            else:
                raise ValueError(name)
            with torch.no_grad():
                print(net(x).argmax(-1))
        """,
    "train(not args.evaluate)": """
        import torch
        from torchvision.models import resnet18

        def main(args, x):
            net = resnet18(weights="DEFAULT")
            net.train(not args.evaluate)
            if args.evaluate:
                with torch.no_grad():
                    print(net(x).argmax(-1))
        """,
    "return behind the evaluation": """
        import torch
        from torchvision.models import resnet18

        def validate(loader, model):
            model.eval()
            hits = 0
            with torch.no_grad():
                for x, y in loader:
                    hits += (model(x).argmax(1) == y).sum().item()
            return hits

        def train(loader, model, optimizer, loss_fn):
            model.train()
            for x, y in loader:
                optimizer.zero_grad()
                loss_fn(model(x), y).backward()
                optimizer.step()

        def main(args, loader, val_loader, loss_fn):
            model = resnet18()
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            if args.evaluate:
                validate(val_loader, model)
                return
            for epoch in range(args.epochs):
                train(loader, model, optimizer, loss_fn)
                validate(val_loader, model)
        """,
    "a conditional expression": """
        import torch
        from torchvision.models import resnet18

        def main(args, x):
            net = resnet18(weights="DEFAULT")
            net = net.train() if args.train else net.eval()
            if not args.train:
                with torch.no_grad():
                    print(net(x).argmax(-1))
        """,
    "match": """
        import torch
        from torchvision.models import resnet18, resnet50

        def main(name, x):
            match name:
                case "small":
                    net = resnet18(weights="DEFAULT")
                case _:
                    net = resnet50(weights="DEFAULT")
            net.eval()
            with torch.no_grad():
                print(net(x).argmax(-1))
        """,
    "a flag in the constructor": """
        import torch
        from torchvision.models import resnet18

        class Runner:
            def __init__(self, training):
                self.training = training
                self.net = resnet18(weights="DEFAULT")
                if not self.training:
                    self.net.eval()

            def run(self, x):
                if not self.training:
                    with torch.no_grad():
                        return self.net(x).argmax(-1).item()
        """,
    "eval() by short circuit": """
        import torch
        from torchvision.models import resnet18

        def main(args, x):
            net = resnet18(weights="DEFAULT")
            args.test and net.eval()
            if args.test:
                with torch.no_grad():
                    print(net(x).argmax(-1))
        """,
    "a flag of the model itself": """
        import torch
        from torchvision.models import resnet18

        @torch.no_grad()
        def predict(x):
            net = resnet18(weights="DEFAULT")
            if net.training:
                net.eval()
            return net(x).argmax(-1).item()
        """,
    "an assertion": """
        import torch

        @torch.no_grad()
        def predict(net, path, x):
            net.load_state_dict(torch.load(path, weights_only=True))
            assert not net.training
            return net(x).argmax(-1).item()
        """,
}

FOUND = {
    "a phase that is a member of an enumeration, without no_grad": """
        from enum import Enum

        class Phase(Enum):
            TRAIN = 1
            VAL = 2

            @classmethod
            def of(cls, name):
                return cls[name]

        def run(net, optimizer, x, phase):
            if phase == Phase.TRAIN:
                net.train()
            else:
                net.eval()
            loss = net(x).mean()
            if phase == Phase.TRAIN:
                loss.backward()
                optimizer.step()
            else:
                print(loss.item())

        def main(net, optimizer, loader):
            for x in loader:
                run(net, optimizer, x, Phase.TRAIN)
            run(net, optimizer, x, Phase.VAL)  # ML201
        """,
    "another flag": """
        import torch
        from torchvision.models import resnet18

        def main(args, x):
            net = resnet18(weights="DEFAULT")
            if args.train:
                net.train()
            if args.test:
                with torch.no_grad():
                    print(net(x).argmax(-1))  # ML101
        """,
    "only the other branch sets it": """
        import torch
        from torchvision.models import resnet18

        def main(args, x, loader, loss_fn):
            net = resnet18(weights="DEFAULT")
            optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
            if args.train:
                net.eval()
                for a, b in loader:
                    optimizer.zero_grad()
                    loss_fn(net(a), b).backward()
                    optimizer.step()
            else:
                with torch.no_grad():
                    print(net(x).argmax(-1))  # ML101
        """,
    "neither branch sets it": """
        import torch
        from torchvision.models import resnet18, resnet50

        def main(name, x):
            if name == "small":
                net = resnet18(weights="DEFAULT")
            else:
                net = resnet50(weights="DEFAULT")
            with torch.no_grad():
                print(net(x).argmax(-1))  # ML101
        """,
    "match, and no eval()": """
        import torch
        from torchvision.models import resnet18, resnet50

        def main(name, x):
            match name:
                case "small":
                    net = resnet18(weights="DEFAULT")
                case _:
                    net = resnet50(weights="DEFAULT")
            with torch.no_grad():
                print(net(x).argmax(-1))  # ML101
        """,
    "gradients off in one branch only": """
        import torch
        from torchvision.models import resnet18

        def main(args, x):
            net = resnet18(weights="DEFAULT").eval()
            if args.fast:
                with torch.no_grad():
                    print(net(x).argmax(-1))
            else:
                print(net(x).argmax(-1))  # ML201
        """,
    "the wrong way round": """
        import torch
        from torchvision.models import resnet18

        def main(args, x):
            net = resnet18(weights="DEFAULT")
            net.train(args.test)
            if args.test:
                with torch.no_grad():
                    print(net(x).argmax(-1))  # ML101
        """,
}


@pytest.mark.parametrize("code", SILENT.values(), ids=SILENT)
def test_silent(lint: Lint, code: str) -> None:
    lint(code)


@pytest.mark.parametrize("code", FOUND.values(), ids=FOUND)
def test_found(lint: Lint, code: str) -> None:
    lint(code)
