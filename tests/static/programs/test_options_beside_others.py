"""An option that was asked before decides a condition that asks for something else besides."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint

PROGRAM = """
import torch
from torchvision.models import resnet18

def main(args, images):
    net = resnet18(weights="DEFAULT")
    net.train()
    if not args.tune:
        net.eval()
    if {ASKED}:
        with torch.no_grad():
            print(net(images).argmax(1)){MARK}
"""


@pytest.mark.parametrize(
    ("asked", "mark"),
    [
        ("not args.tune and len(images) > 3", ""),
        ("not (args.tune or len(images) > 3)", ""),
        ("args.tune or len(images) > 3", ""),  # in either mode, as the option says
        ("args.tune and len(images) > 3", "  # ML101"),
        ("len(images) > 3 and args.names != [] and args.tune", "  # ML101"),
        ("not (not args.tune or len(images) > 3)", "  # ML101"),
    ],
)
def test_what_is_asked_with_an_option(lint: Lint, asked: str, mark: str) -> None:
    program = PROGRAM.replace("{ASKED}", asked).replace("{MARK}", mark)
    lint(program, rules=["ML101"])
