"""Decorators of coroutines and others, star imports of helpers, and loops over what a progress bar wraps."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.static.conftest import Lint

COROUTINE = """
        import torch
        from nets import Craft

        class Detector:
            async def load(self, path):
                self.model = Craft()
                self.model.load_state_dict(torch.load(path, weights_only=True))
                self.model.eval()

            {DECORATOR}
            {ASYNC}def infer(self, image):
                {SWITCH}
                    return self.model(image).argmax(1).cpu().detach().numpy()  # ML201
"""

NOTEBOOK = """
        from {HELPER} import *

        model = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.8), nn.Linear(8, 2))
        model.load_state_dict(torch.load("model.pt", weights_only=True))
        {READY}
        with torch.no_grad():
            print(model(rows).argmax(1))  # ML101
"""

BARS = """
        from tqdm import tqdm

        def fit(net, optimizer, loss_fn, train_loader, val_loader):
            net.train()
            for epoch in range(9):
                with tqdm(train_loader) as bar:
                    for x, y in bar:
                        optimizer.zero_grad()
                        loss_fn(net(x), y).backward()
                        optimizer.step()
                hits = 0
                with tqdm({DATA}, total=9, colour="green") as bar:
                    for number, (x, y) in enumerate(bar, start=1):
                        hits += (net(x).argmax(1) == y).sum().item()  # ML101, ML201
                        bar.set_postfix(hits=hits / number)
"""


DECORATED = """
        import functools
        import torch

        {HELPER}

        def timed(function):
            @functools.wraps(function)
            def run(self, *args):
                {BEFORE}
                print(function.__name__)
                {CALLS}
            return run

        class Service:
            def __init__(self, net):
                self.net = net

            @timed
            def predict(self, image):
                found = self.net([image])  # ML201
                return found[0]["boxes"].cpu().detach().numpy()
"""


def filled(files: Mapping[str, str], **words: str) -> dict[str, str]:
    """Return files whose names and texts have `words` filled in."""
    done = dict(files)
    for word, text in words.items():
        done = {name.replace(f"{{{word}}}", text): body.replace(f"{{{word}}}", text) for name, body in done.items()}
    return done


def silent(files: Mapping[str, str], code: str) -> dict[str, str]:
    """Return files without their marks."""
    return {name: body.replace(f"  # {code}", "") for name, body in files.items()}


@pytest.mark.parametrize(
    ("decorator", "kind", "switch", "right"),
    [
        ("@torch.no_grad()", "", "if True:", True),
        ("@staged", "async ", "with torch.no_grad():", True),
        ("@torch.no_grad()", "async ", "with torch.no_grad():", True),
        ("@torch.no_grad()", "async ", "if True:", False),
        ("@torch.inference_mode()", "async ", "if True:", False),
    ],
)
def test_a_coroutine_runs_after_its_decorator_was_left(
    decorator: str, kind: str, switch: str, right: bool, lint: Lint
) -> None:
    files = filled({"app.py": COROUTINE}, DECORATOR=decorator, ASYNC=kind, SWITCH=switch)
    lint(silent(files, "ML201") if right else files, rules=["ML201"])


@pytest.mark.parametrize(
    ("helper", "ready", "right"),
    [("torch_snippets", "model.eval()", True), ("torch_snippets", "pass", False), ("course.utils.all", "pass", False)],
)
def test_a_helper_hands_on_torch_with_all_its_names(helper: str, ready: str, right: bool, lint: Lint) -> None:
    files = filled({"app.py": NOTEBOOK}, HELPER=helper, READY=ready)
    lint(silent(files, "ML101") if right else files, rules=["ML101"])


@pytest.mark.parametrize(("data", "right"), [("train_loader", True), ("val_loader", False)])
def test_what_a_progress_bar_wraps_is_what_a_loop_runs_over(data: str, right: bool, lint: Lint) -> None:
    files = filled({"app.py": BARS}, DATA=data)
    lint(silent(files, "ML101, ML201") if right else files, rules=["ML101", "ML201"])


@pytest.mark.parametrize(
    ("before", "calls", "right"),
    [
        ("torch.set_grad_enabled(False)", "return function(self, *args)", True),
        ("quiet()", "return function(self, *args)", True),
        ("pass", "with torch.no_grad(): return function(self, *args)", True),
        ("pass", "return function(self, *args)", False),
    ],
)
def test_a_decorator_that_passes_on_changes_nothing(before: str, calls: str, right: bool, lint: Lint) -> None:
    helper = "def quiet(): torch.set_grad_enabled(False)"
    files = filled({"app.py": DECORATED}, HELPER=helper, BEFORE=before, CALLS=calls)
    lint(silent(files, "ML201") if right else files, rules=["ML201"])
