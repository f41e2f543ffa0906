"""What calls say of the work, several models at one place, and switches that only some machines reach."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint

RULES = ("ML101", "ML103", "ML201")
NET = """
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.lin = nn.Linear(4, 4); self.drop = nn.Dropout(0.1)

        def forward(self, x):
            return self.drop(self.lin(x))
    """
STAGES = """
    import torch
    import torch.nn.functional as F
    from net import Net

    def run_epoch(model, {name}, optimizer, {parameter}):
        total = 0
        for x, y in {name}:
            loss = F.cross_entropy(model(x), y)
            if {trains}:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            total += loss.item()
        return total

    def main(first, second, train_loader, val_loader):
        model = Net()
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        for epoch in range(5):
            model.train()
            run_epoch({train})
            print(run_epoch({then})){mark}
    """
ENSEMBLE = """
    import torch
    from net import Net

    def load(path):
        net = Net()
        net.load_state_dict(torch.load(path, weights_only=True))
        return net

    def ensemble(paths, x):
        first = load(paths[0]).eval()
        rest = [load(path){ready} for path in paths[1:]]
        with torch.no_grad():
            return torch.stack([net(x).softmax(1) for net in {members}]).mean(0){mark}
    """
MACHINES = """
    import torch
    from net import Net

    def load(path, args):
        net = Net()
        net.load_state_dict(torch.load(path, weights_only=True))
        {switch}
        return net

    def main(path, x, args):
        net = load(path, args)
        with torch.inference_mode():
            print(net(x).argmax(-1).tolist()){mark}
    """


def stages(
    train: str,
    then: str,
    mark: str = "",
    parameter: str = "stage",
    trains: str = 'stage == "train"',
    name: str = "loader",
) -> dict[str, str]:
    text = STAGES.format(train=train, then=then, mark=mark, parameter=parameter, trains=trains, name=name)
    return {"net.py": NET, "run.py": text}


def ensemble(members: str, ready: str = "", mark: str = "") -> dict[str, str]:
    return {"net.py": NET, "ensemble.py": ENSEMBLE.format(members=members, ready=ready, mark=mark)}


def machines(switch: str, mark: str = "") -> dict[str, str]:
    return {"net.py": NET, "app.py": MACHINES.format(switch=switch.replace("\n", "\n        "), mark=mark)}


SPLITS = """
    import torch
    import torch.nn.functional as F
    from net import Net

    class Trainer:
        def __init__(self, loaders):
            self.model = Net()
            self.optimizer = torch.optim.AdamW(self.model.parameters())
            self.loaders = loaders

        def prepare(self, train):
            {prepare}
            torch.set_grad_enabled(train)

        def epoch(self, split):
            is_train = split == "train"
            self.prepare(is_train)
            for x, y in self.loaders[split]:
                loss = F.cross_entropy(self.model(x), y){mark}
                if is_train:
                    self.optimizer.zero_grad()
                    loss.backward()
                    self.optimizer.step()

        def run(self, epochs):
            for _ in range(epochs):
                for split in ("train", "val"):
                    self.epoch(split)
    """


def splits(prepare: str, mark: str = "") -> dict[str, str]:
    text = SPLITS.format(prepare=prepare.replace("\n", "\n            "), mark=mark)
    return {"net.py": NET, "trainer.py": text}


BOTH = "  # ML101, ML201"
SILENT = {
    "a second pass over the data that is trained on": stages(
        'model, first, optimizer, "train"', 'model, second, optimizer, "train"'
    ),
    "a call that says nothing of the part of the work": stages(
        'model, first, optimizer, "train"', 'model, second, optimizer, "second"'
    ),
    "a call with loaders for both parts": stages(
        "model, train_loader, optimizer, True",
        "model, train_loader, optimizer, val_loader",
        parameter="other",
        trains="other is True",
    ),
    "a mode that is set by a flag in a helper": splits("self.model.train(train)"),
    "an ensemble whose members are all switched": ensemble("[first] + rest", ready=".eval()"),
    "an eval of its own on every kind of machine": machines(
        "if args.cuda:\n    net.cuda().eval()\nelse:\n    net.eval()"
    ),
    "an eval under a condition on the work": machines("if args.evaluate:\n    net.eval()"),
    "an eval under a condition on the work and on the machine": machines(
        "if not args.train and args.cuda:\n    net.eval()"
    ),
    "an eval after a condition on the machine": machines("if args.cuda:\n    net.cuda()\nnet.eval()"),
}
FOUND = {
    "a helper that only ever calls eval": splits("if not train:\n    self.model.eval()", "  # ML103"),
    "a stage that is named by a text": stages(
        'model, first, optimizer, "train"', 'model, second, None, "val"', "  # ML101, ML201"
    ),
    "a stage with a longer name": stages(
        'model, first, optimizer, stage="train"', 'model, second, None, stage="validate"', BOTH
    ),
    "a loader for validation": stages(
        'model, train_loader, optimizer, "a"', 'model, val_loader, None, "b"', BOTH, trains='stage == "a"'
    ),
    "a flag": stages(
        "model, first, optimizer, train=True",
        "model, second, None, train=False",
        BOTH,
        parameter="train",
        trains="train",
    ),
    "one member of an ensemble in evaluation mode": ensemble("[first] + rest", mark="  # ML101"),
    "two models in one list": ensemble("[first, *rest]", mark="  # ML101"),
    "an eval on one kind of machine": machines('if args.device == "cuda":\n    net.cuda().eval()', "  # ML101"),
    "an eval where there is a GPU": machines(
        "if torch.cuda.is_available():\n    net.half()\n    net.eval()", "  # ML101"
    ),
}


@pytest.mark.parametrize("name", SILENT)
def test_silent(lint: Lint, name: str) -> None:
    lint(SILENT[name], rules=RULES)


@pytest.mark.parametrize("name", FOUND)
def test_found(lint: Lint, name: str) -> None:
    lint(FOUND[name], rules=RULES)


def test_the_part_with_dropout_is_named_though_it_shares_its_row(lint: Lint) -> None:
    found = lint(ensemble("rest", mark="  # ML101"), rules=RULES)
    assert "Dropout(p=0.1) in drop is still active" in found[0].message


def test_the_switch_that_some_machines_reach_is_told(lint: Lint) -> None:
    found = lint(machines("if args.cuda:\n    net.eval()", "  # ML101"), rules=RULES)
    assert "eval() on line 9 does not always run" in found[0].message
    assert found[0].related[0].message == "not every run comes here"
