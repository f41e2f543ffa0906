"""Loaders that one file makes, another asks for and a third runs over; transforms that are called by any name."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint

DATA = """
        from torch.utils.data import DataLoader
        from torchvision.datasets import ImageFolder
        from torchvision.transforms import v2

        PLAIN = v2.Compose([v2.Resize(192), v2.PILToTensor()])
        SHIFTED = v2.Compose([
            v2.Resize(192),
            v2.RandomAffine(degrees=10),{SHIFT}
        ])

        def images(root):
            return ImageFolder(root, {TRANSFORM})

        def val_loader(root):
            return DataLoader(images(root), 64{OPTION}){MARK}
"""
SCORE = """
        import torch

        @torch.no_grad()
        def accuracy(net, loader):
            net.eval()
            hits = [(net(x).argmax(1) == y).float().mean().item() for x, y in loader]
            return sum(hits) / len(hits)
"""
TRAIN = """
        from data import val_loader
        from score import accuracy

        def fit(net, root):
            for epoch in range(9):
                {RUN}
"""
VALUE = "val = val_loader(root)\n                print(accuracy(net, val))"


def files(transform: str, option: str, run: str, shift: str = "", mark: str = "") -> dict[str, str]:
    data = DATA.replace("{TRANSFORM}", transform).replace("{OPTION}", option)
    data = data.replace("{SHIFT}", shift).replace("{MARK}", mark)
    return {"data.py": data, "score.py": SCORE, "train.py": TRAIN.replace("{RUN}", run)}


@pytest.mark.parametrize("run", [VALUE, "print(accuracy(net, val_loader(root)))"])
def test_what_three_files_do_right(lint: Lint, run: str) -> None:
    lint(files("PLAIN", "", run), rules=["ML305", "ML307"])
    lint(files("PLAIN", ", drop_last=False", run), rules=["ML305", "ML307"])


@pytest.mark.parametrize("run", [VALUE, "print(accuracy(net, val_loader(root)))"])
def test_what_three_files_do_wrong(lint: Lint, run: str) -> None:
    lint(files("SHIFTED", "", run, shift="  # ML305"), rules=["ML305", "ML307"])
    lint(files("PLAIN", ", drop_last=True", run, mark="  # ML307"), rules=["ML305", "ML307"])


PREPARED = """
        import torch
        from accelerate import Accelerator
        from torchvision.models import resnet18
        from torchvision.transforms import v2

        class Service:
            def __init__(self):
                self.net = resnet18(weights="DEFAULT").eval()
                self.accelerator = Accelerator()
                self.prepare = v2.Compose([v2.{FIRST}(224), v2.ToImage()]){MARK}

            @torch.inference_mode()
            def predict(self, image):
                prepare = self.prepare
                x = {CALL}
                return self.net(x).argmax(1).item()
"""


@pytest.mark.parametrize("call", ["self.prepare(image)[None]", "prepare(image)", "self.prepare(image)"])
@pytest.mark.parametrize(("first", "mark"), [("CenterCrop", ""), ("RandomCrop", "  # ML305")])
def test_what_is_called_prepare_may_be_a_transform(lint: Lint, call: str, first: str, mark: str) -> None:
    program = PREPARED.replace("{CALL}", call).replace("{FIRST}", first).replace("{MARK}", mark)
    lint(program, rules=["ML305"])


def test_an_accelerator_hands_back_what_it_prepares(lint: Lint) -> None:
    program = PREPARED.replace("{CALL}", "self.accelerator.prepare(image)").replace("{FIRST}", "RandomCrop")
    lint(program.replace("{MARK}", ""), rules=["ML305"])
