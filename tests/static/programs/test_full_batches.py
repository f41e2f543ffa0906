"""Evaluations that need full batches, or whose data make no other ones, and those that lose the rest."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint

BUFFERS = """
        import torch
        from torch.utils.data import DataLoader

        batch_size = 10
        val_loader = DataLoader(val_set, batch_size, drop_last=True){MARK}
        {BUFFER}
        net.eval()
        for x, y in val_loader:
            {COPY}
            print(net(inputs).argmax(1) == y)
"""
WRAPPED = "inputs = Variable(torch.FloatTensor(batch_size, 3, 32, 32))"


def buffered(buffer: str, copy: str, mark: str = "") -> str:
    return BUFFERS.replace("{BUFFER}", buffer).replace("{COPY}", copy).replace("{MARK}", mark)


@pytest.mark.parametrize(
    ("buffer", "copy"),
    [
        (WRAPPED, "inputs.data.copy_(x.float())"),
        (WRAPPED, "y = y.cuda(); x = x.cuda(); inputs.copy_(x)"),
        ("inputs = torch.zeros((batch_size, 3, 32, 32))", "inputs.copy_(x, non_blocking=True)"),
    ],
)
def test_copied_into_memory_for_full_batches(lint: Lint, buffer: str, copy: str) -> None:
    lint(buffered(buffer, copy), rules=["ML307"])


@pytest.mark.parametrize(
    ("buffer", "copy"),
    [
        ("inputs = torch.empty(0)", "inputs.copy_(x)"),
        ("inputs = torch.zeros(3, 32, 32)", "inputs.copy_(x.mean(0))"),
        (WRAPPED, "inputs.resize_(x.size()); inputs.copy_(x)"),
        (WRAPPED, "inputs.data.resize_(x.size()).copy_(x)"),
        (WRAPPED, "inputs.data.resize_as_(x); inputs.data.copy_(x)"),
        (WRAPPED, "inputs.copy_(noise)"),
        (WRAPPED, "inputs[: len(x)].copy_(x)"),
        (WRAPPED, "inputs = x.clone()"),
        ("inputs = noise", "inputs.copy_(x)"),
        (WRAPPED, "inputs = torch.zeros(batch_size, 3); inputs.copy_(x)"),
    ],
)
def test_copied_into_what_takes_any_batch(lint: Lint, buffer: str, copy: str) -> None:
    lint(buffered(buffer, copy, "  # ML307"), rules=["ML307"])


LOAD = """
        from torch.utils.data import DataLoader

        def load(data, size):
            {INSIDE}
            return DataLoader(data, batch_size=size, drop_last=True){MARK}
"""
RUN = """
        import torch

        from load import load

        def parse(parser):
            args = parser.parse_args()
            {CHECK}
            return args

        def main(net, parser, test_set):
            args = parse(parser)
            loader = load(test_set, args.test_batch)
            net.eval()
            with torch.no_grad():
                for x, y in loader:
                    print(net(x).argmax(1) == y)
"""


def checked(check: str, inside: str = "pass", mark: str = "") -> dict[str, str]:
    load = LOAD.replace("{INSIDE}", inside).replace("{MARK}", mark)
    return {"load.py": load, "run.py": RUN.replace("{CHECK}", check)}


@pytest.mark.parametrize(
    ("check", "inside"),
    [
        ("assert args.n_test % args.test_batch == 0", "pass"),
        ('assert args.n_train % args.batch == 0 and args.n_test % args["test_batch"] == 0, "rest"', "pass"),
        ("if args.n_test % args.test_batch != 0: raise ValueError(args)", "pass"),
        ("pass", "assert len(data) % size == 0"),
    ],
)
def test_found_to_make_full_batches(lint: Lint, check: str, inside: str) -> None:
    lint(checked(check, inside), rules=["ML307"])


@pytest.mark.parametrize(
    ("check", "inside"),
    [
        ("assert args.n_train % args.batch == 0", "pass"),
        ("assert args.n_train % args.test_batch == 0", "pass"),
        ("assert args.n_test % args.test_batch != 0", "pass"),
        ("assert args.n_test % args.test_batch == 1", "pass"),
        ("assert args.n_test // args.test_batch == 0", "pass"),
        ("assert args.test_batch == 0", "pass"),
        ("if args.n_test % args.test_batch != 0: print(args)", "pass"),
        ("if args.n_test % args.test_batch == 0: raise ValueError(args)", "pass"),
        ("pass", "assert len(data) % 8 == 0"),
        ("pass", "assert len(data) % data.size() == 0"),
    ],
)
def test_not_found_to_make_full_batches(lint: Lint, check: str, inside: str) -> None:
    lint(checked(check, inside, "  # ML307"), rules=["ML307"])
