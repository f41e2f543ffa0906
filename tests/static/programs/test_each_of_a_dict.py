"""A loop over a dict of models that nobody in sight makes: it puts each of them into a mode, whatever the keys are."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint

TRAINER = """
        import torch

        class Trainer:
            def __init__(self, model, optimizer, loaders):
                self.model = model
                self.optimizer = optimizer
                self.loaders = loaders

            def run(self):
                while True:
                    for batch in self.loaders["train"]:
                        self.train_step(batch)
                    self.validate()

            def train_step(self, batch):
                x = self.model["generator"](batch){TRAINED}
                loss = (x - batch).pow(2).mean()
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()

            def validate(self):
                {READY}
                for batch in self.loaders["dev"]:
                    self.eval_step(batch)
                {BACK}

            @torch.no_grad()
            def eval_step(self, batch):
                x = self.model["generator"](batch){JUDGED}
                self.total += x.mean().item()
"""
BY_KEY = "for key in self.model:\n                    self.model[key]."
BY_KEYS = "for key in self.model.keys():\n                    self.model[key]."
BY_VALUE = "for net in self.model.values():\n                    net."
BY_ITEM = "for key, net in self.model.items():\n                    net."
BY_ITEM_KEY = "for key, net in self.model.items():\n                    self.model[key]."
SOME = "for key in self.model:\n                    if key == self.key:\n                        self.model[key]."
OTHERS = "for key in self.loaders:\n                    self.model[key]."


@pytest.mark.parametrize("each", [BY_KEY, BY_KEYS, BY_VALUE, BY_ITEM, BY_ITEM_KEY])
def test_each_is_switched(lint: Lint, each: str) -> None:
    lint(TRAINER.format(READY=f"{each}eval()", BACK=f"{each}train()", TRAINED="", JUDGED=""))


@pytest.mark.parametrize("ready", ["pass", f"{BY_KEY}train()", f"{SOME}eval()", f"{OTHERS}eval()"])
def test_not_each_is_switched(lint: Lint, ready: str) -> None:
    lint(TRAINER.format(READY=ready, BACK=f"{BY_KEY}train()", TRAINED="", JUDGED="  # ML101"))


def test_none_is_put_back(lint: Lint) -> None:
    lint(TRAINER.format(READY=f"{BY_VALUE}eval()", BACK="pass", TRAINED="  # ML103", JUDGED=""))
