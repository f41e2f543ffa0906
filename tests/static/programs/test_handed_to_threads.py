"""Autograd is recorded, or not, by each thread for itself: what another one runs is not under the caller's no_grad."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint


def test_another_thread_records(lint: Lint) -> None:
    lint(
        """
        import asyncio
        from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

        import torch
        from torchvision.models import resnet18

        def score_guarded(batches):
            net = resnet18(weights="DEFAULT").eval()

            @torch.no_grad()
            def score(x):
                return net(x).argmax(1).tolist()

            with ThreadPoolExecutor(4) as pool:
                return list(pool.map(score, batches))

        def score_processes(batches):
            net = resnet18(weights="DEFAULT").eval()

            def score(x):
                return net(x).argmax(1).tolist()

            with torch.no_grad(), ProcessPoolExecutor(4) as pool:
                return list(pool.map(score, batches))

        def score_in_a_pool(batches):
            net = resnet18(weights="DEFAULT").eval()

            def score(x):
                return net(x).argmax(1).tolist()  # ML201

            with torch.no_grad(), ThreadPoolExecutor(4) as pool:
                return list(pool.map(score, batches))

        async def score_guarded_later(x):
            net = resnet18(weights="DEFAULT").eval()

            @torch.inference_mode()
            def score(x):
                return net(x).argmax(1).tolist()

            return await asyncio.to_thread(score, x)

        async def score_unpacked(x):
            net = resnet18(weights="DEFAULT").eval()
            given = [net, x]
            scores = await asyncio.to_thread(*given)  # ML201
            return scores.argmax(1).tolist()

        async def score_later(x):
            net = resnet18(weights="DEFAULT").eval()
            with torch.inference_mode():
                scores = await asyncio.to_thread(net, x)  # ML201
            return scores.argmax(1).tolist()
        """
    )


CONTEXT = """
import contextvars

from torchvision.models import resnet18

class Solver:
    def __init__(self, runner):
        self.net = resnet18(weights="DEFAULT").eval()
        self.ctx = {made}

    def solve(self, x):
        result = self.ctx.{call}
        return result.detach().numpy()
"""


@pytest.mark.parametrize(
    ("made", "call"),
    [
        ("runner", "run(self.net, x)"),
        ("contextvars.copy_context()", "run(print, self.net, x)"),
        ("contextvars.copy_context()", "get(self.net, x)"),
        ("contextvars.copy_context()", "run(self.net, x)  # ML201"),
    ],
)
def test_a_context_runs_what_it_is_given(lint: Lint, made: str, call: str) -> None:
    lint(CONTEXT.replace("{made}", made).replace("{call}", call), rules=["ML201"])
