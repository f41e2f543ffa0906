"""Weights that are not what one thinks, and norms that ask the batch: ML110, ML402, ML405."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint

RULES = ("ML110", "ML402", "ML405")

SILENT = {
    "the mismatch is returned": """
        import torch

        def load(model, state):
            return model.load_state_dict(state, strict=False)
        """,
    "the mismatch is kept for later": """
        import torch

        class Loader:
            def load(self, model, state):
                self.report = model.load_state_dict(state, strict=False)
        """,
    "the mismatch is asserted": """
        import torch

        def load(model, state):
            keys = model.load_state_dict(state, strict=False)
            assert not keys.unexpected_keys
            return model
        """,
    "the mismatch is logged": """
        import logging
        import torch

        def load(model, state):
            logging.info("%s", model.load_state_dict(state, strict=False))
        """,
    "the keys were compared first": """
        import torch

        def load(model, state):
            missing = set(model.state_dict()) - set(state)
            if missing:
                raise KeyError(missing)
            model.load_state_dict(state, strict=False)
        """,
    "strict is the caller's choice": """
        import torch

        def load(model, state, strict=False):
            model.load_state_dict(state, strict=strict)
        """,
    "only the encoder's keys were picked": """
        import torch

        def load(model, state):
            model.load_state_dict({k: v for k, v in state.items() if k.startswith("encoder.")}, strict=False)
        """,
    "the head is popped": """
        import torch

        def load(model, path):
            state = torch.load(path, weights_only=True)
            for name in ("head.weight", "head.bias"):
                state.pop(name)
            model.load_state_dict(state, strict=False)
        """,
    "a backbone out of a whole checkpoint": """
        import torch

        def load(detector, state):
            detector.backbone.load_state_dict(state, strict=False)
        """,
    "an optimizer knows no strict": """
        import torch

        def load(optimizer, state):
            optimizer.load_state_dict(state)
        """,
    "the name of weights is no truth value": """
        import torch
        import open_clip
        from elsewhere import build

        a = open_clip.create_model("ViT-B-32", pretrained="laion2b_s34b_b79k")
        b = build(pretrained="imagenet")
        """,
    "a class of the project takes texts": """
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self, pretrained: str = "no"):
                super().__init__()
                self.pretrained = pretrained

        net = Net(pretrained="no")
        """,
    "a variable that is assigned twice": """
        import timm

        pretrained = "false"
        pretrained = pretrained == "true"
        model = timm.create_model("resnet18", pretrained=pretrained)
        """,
    "instance norm": """
        from torch import nn

        norm = nn.InstanceNorm2d(8, affine=True, track_running_stats=False)
        """,
}

FOUND = {
    "under a condition, at the top level": """
        import argparse
        import torch
        from net import Net

        args = argparse.ArgumentParser().parse_args()
        model = Net()
        if args.resume:
            checkpoint = torch.load(args.resume, weights_only=True)
            model.load_state_dict(checkpoint["model"], strict=False)  # ML402
        """,
    "in a method, behind a wrapper": """
        import torch

        class Tester:
            def restore(self, path):
                self.model.module.load_state_dict(torch.load(path)["state"], strict=False)  # ML402
                self.model.eval()
        """,
    "a silent second attempt": """
        import torch

        def load(model, state):
            try:
                model.load_state_dict(state)
            except RuntimeError:
                model.load_state_dict(state, strict=False)  # ML402
        """,
    "texts as truth values": """
        import timm
        import torch
        from torchvision import models

        a = timm.create_model("resnet18", pretrained="False")  # ML405
        b = models.resnet18(pretrained="true")  # ML405
        b.load_state_dict(torch.load("b.pt", weights_only=True), strict="no")  # ML405
        for p in b.parameters():
            p.requires_grad_("false")  # ML405
        """,
    "a function of the project that takes it for a truth value": """
        import timm

        def build(name, pretrained=False):
            return timm.create_model(name, pretrained=pretrained)

        model = build("resnet18", pretrained="0")  # ML405
        """,
    "norms inside a Sequential": """
        from torch import nn

        body = nn.Sequential(
            nn.Conv2d(3, 8, 3),
            nn.BatchNorm2d(8, track_running_stats=False),  # ML110
            nn.ReLU(),
        )
        """,
}


@pytest.mark.parametrize("code", SILENT.values(), ids=SILENT)
def test_silent(lint: Lint, code: str) -> None:
    lint(code, rules=RULES)


@pytest.mark.parametrize("code", FOUND.values(), ids=FOUND)
def test_found(lint: Lint, code: str) -> None:
    lint(code, rules=RULES)
