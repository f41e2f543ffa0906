"""Methods of a base class that lead to what the heirs define: correct code first."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint

DENSITY = """
import numpy as np
import torch
from torch import nn, optim

class Distribution(nn.Module):
    def log_prob(self, inputs):
        return self.{middle}(inputs)

    def _checked(self, inputs):
        return self._log_prob(inputs)

    def _log_prob(self, inputs):
        {abstract}

class Flow(Distribution):
    def __init__(self, {part}):
        super().__init__()
        self.{part} = {part}

    def _log_prob(self, inputs):
        return {heir}

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 1)

    def forward(self, inputs):
        return self.layer(inputs)

flow = Flow(Net())
optimizer = optim.Adam(flow.parameters())
for batch in train_loader:
    flow.train()
    loss = -flow.log_prob(batch).mean()
    loss.backward()
    optimizer.step()
flow.eval()
rows = []
with {context}:
    for batch in grid_loader:
        log_density = flow.log_prob(batch){mark}
        rows.append(log_density.detach().cpu().numpy())
plot(np.exp(np.concatenate(rows)))
"""


def density(
    context: str = "timer()",
    mark: str = "",
    heir: str = "self.net(inputs)",
    part: str = "net",
    middle: str = "_log_prob",
    abstract: str = "raise NotImplementedError",
) -> str:
    parts = {"{context}": context, "{mark}": mark, "{heir}": heir, "{part}": part, "{middle}": middle}
    text = DENSITY.replace("{abstract}", abstract)
    for name, value in parts.items():
        text = text.replace(name, value)
    return text


@pytest.mark.parametrize(
    "text",
    [
        density("torch.no_grad()"),
        density(heir="-0.5 * (inputs**2).sum(-1)"),
        density(heir="self.transform(inputs)", part="transform", context="torch.no_grad()"),
        density(mark="  # ML201"),
        density(mark="  # ML201", middle="_checked"),
        density(mark="  # ML201", abstract="pass"),
        density(mark="  # ML201", heir="self.transform(inputs)", part="transform"),
    ],
)
def test_an_inherited_method_runs_what_the_heir_defines(lint: Lint, text: str) -> None:
    lint({"app.py": text}, rules=["ML201"])


PREPARED = """
import torch
from torch import nn

class Reader(nn.Module):
    def __init__(self, {part}):
        super().__init__()
        self.{part} = {part}

    def prepare(self, text):
        return self.{part}(text)

def evaluate(path, texts, {part}):
    reader = Reader({part})
    reader.load_state_dict(torch.load(path, weights_only=True))
    reader.eval()
    for text in texts:
        print(reader.prepare(text).argmax().item())
"""


@pytest.mark.parametrize("part", ["tokenizer", "processor", "transform", "net  # ML201"])
def test_what_prepares_data_in_a_network_is_no_part_of_it(lint: Lint, part: str) -> None:
    part, _, mark = part.partition("  ")
    text = PREPARED.replace("(text)\n\ndef", f"(text)  {mark}\n\ndef" if mark else "(text)\n\ndef")
    lint({"app.py": text.replace("{part}", part)}, rules=["ML201"])
