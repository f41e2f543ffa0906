"""Loaders that something stands around: counters, generators, objects that read them, constructors that pass them."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint

RULES = ["ML306", "ML307"]
_HEAD = """
        from itertools import chain, islice

        import torch
        from torch.utils.data import DataLoader
        from tqdm import tqdm
"""
_EVALUATE = """
        @torch.no_grad()
        def evaluate(model, batches):
            model.eval()
            for x, y in batches:
                print((model(x).argmax(1) == y).sum())
"""
_ON_DEVICE = """
        class OnDevice:
            def __init__(self, loader, device):
                self.loader, self.device = loader, device

            def __iter__(self):
                {body}

        def main(model, held_out):
            evaluate(model, OnDevice(DataLoader(held_out, shuffle={shuffle}), "cuda")){mark}
"""
_BATCHES = """
        def batches_of(data, shuffle=True):
            loader = DataLoader(data, batch_size=8, shuffle=shuffle)
            for batch in loader:
                yield {{name: part.cuda() for name, part in batch.items()}}{then}

        def main(model, held_out):
            evaluate(model, batches_of(held_out{given})){mark}
"""
_EPOCH = """
        def run_epoch(model, loader, optimizer=None):
            total = 0.0
            for x, y in loader:
                loss = model(x, y)
                if optimizer is not None:
                    loss.backward()
                    optimizer.step()
                total += loss.item()
            return total

        def main(model, optimizer, parts):
            first = DataLoader(parts[0], shuffle=True)
            second = DataLoader(parts[1], shuffle=True){mark}
            for _ in range(10):
                model.train()
                run_epoch(model, first, optimizer)
                {before}
                {call}
"""
_TRAINER = """
        class Base:
            def __init__(self, model, {taken}):
                self.model = model
                self.held = {taken}

            def evaluate(self):
                self.model.eval()
                with torch.no_grad():
                    for x in self.held:
                        print(self.model(x))

        class Trainer(Base):
            {init}

        def main(model, data):
            Trainer(model, {given}).evaluate()
"""
_HANDS_UP = """def __init__(self, model, loader, more=None):
                {call}"""
_ASKED = """
        def main(model, training, test_set, split):
            if {test}:
                test_loader = DataLoader(test_set, shuffle=True){mark}
            evaluate(model, test_loader)
"""

SILENT = {
    "only the first batches": _EVALUATE
    + """
        def main(model, held_out):
            loader = DataLoader(held_out, shuffle=True)
            evaluate(model, islice(loader, 10))
            evaluate(model, zip(range(10), DataLoader(held_out, shuffle=True)))
        """,
    "the first batches of training": """
        def fit(model, optimizer, data):
            loader = DataLoader(data, shuffle=True)
            for x in islice(loader, 10):
                model(x).sum().backward()
                optimizer.step()
            model.eval()
            with torch.no_grad():
                for x in loader:
                    print(model(x).argmax(1))
        """,
    "a generator that reads in order": _EVALUATE + _BATCHES.format(given=", shuffle=False", then="", mark=""),
    "a generator that stops": _EVALUATE + _BATCHES.format(given="", then="\n                break", mark=""),
    "an object that reads in order": _EVALUATE
    + _ON_DEVICE.format(body="yield from self.loader", shuffle=False, mark=""),
    "an object that reads something else": _EVALUATE + _ON_DEVICE.format(body="return iter([])", shuffle=True, mark=""),
    "a loop of a generator that yields nothing": _EVALUATE
    + """
        def sizes(data):
            for x, y in DataLoader(data, shuffle=True):
                print(len(x))
            yield 1, 2

        def main(model, held_out):
            evaluate(model, sizes(held_out))
        """,
    "an epoch after a switch back to training": _EPOCH.format(
        before="model.eval(); model.train()", call="run_epoch(model, second)", mark=""
    ),
    "an epoch that trains although its caller says eval": _EPOCH.format(
        before="model.eval()", call="run_epoch(model, second, optimizer)", mark=""
    ),
    "a base that is handed another loader": _TRAINER.format(
        taken="loader",
        given="DataLoader(data, shuffle=True)",
        init=_HANDS_UP.format(call="super().__init__(model, more)"),
    ),
    "a loader that is named for a trainer, and trained with": """
        def main(model, optimizer, data):
            trainer_loader = DataLoader(data, shuffle=True)
            for x in trainer_loader:
                model(x).sum().backward()
                optimizer.step()
            model.eval()
            for x in trainer_loader:
                print(model(x))
        """,
    "the split decides": _EVALUATE + _ASKED.format(test='split == "test"', mark=""),
    "another part is asked for": _EVALUATE + _ASKED.format(test="split.test is not None", mark=""),
    "the part that is asked for is compared": _EVALUATE + _ASKED.format(test='test_set != "train"', mark=""),
}

FOUND = {
    "a counter in a variable": _EVALUATE
    + """
        @torch.no_grad()
        def score(model, held_out):
            model.eval()
            bar = tqdm(enumerate(DataLoader(held_out, shuffle=True)))  # ML306
            for i, x in bar:
                print(i, model(x))
            for x in chain(DataLoader(held_out, shuffle=True)):  # ML306
                print(model(x))
            both = zip(DataLoader(held_out, shuffle=True), held_out.names)  # ML306
            for x, name in both:
                print(name, model(x))
            reader = DataLoader(held_out, shuffle=True).__iter__()  # ML306
            for x in reader:
                print(model(x))
        """,
    "a generator expression": _EVALUATE
    + """
        def main(model, held_out):
            loader = DataLoader(held_out, shuffle=True)  # ML306
            evaluate(model, ((x.cuda(), y.cuda()) for x, y in loader))
        """,
    "a generator with a default": _EVALUATE + _BATCHES.format(given="", then="", mark="  # ML306"),
    "a generator that is a method": _EVALUATE
    + """
        class Data:
            def batches(self, data):
                yield from DataLoader(data, drop_last=True)  # ML307

        def main(model, held_out):
            evaluate(model, Data().batches(held_out))
        """,
    "an object that yields": _EVALUATE
    + _ON_DEVICE.format(
        body="for x, y in self.loader:\n                    yield x.to(self.device), y", shuffle=True, mark="  # ML306"
    ),
    "an object that returns an iterator": _EVALUATE
    + _ON_DEVICE.format(body="return iter(self.loader)", shuffle=True, mark="  # ML306"),
    "an epoch for which the caller says eval": _EPOCH.format(
        before="model.eval()", call="run_epoch(model, second)", mark="  # ML306"
    ),
    "an epoch for which the caller switches gradients off": _EPOCH.format(
        before="pass", call="with torch.no_grad(): run_epoch(model, second)", mark="  # ML306"
    ),
    "a loader handed up": _TRAINER.format(
        taken="held",
        given="DataLoader(data, shuffle=True)  # ML306\n        ",
        init=_HANDS_UP.format(call="super().__init__(model, loader)"),
    ),
    "a loader handed up by the name of the base": _TRAINER.format(
        taken="held",
        given="DataLoader(data, shuffle=True)  # ML306\n        ",
        init=_HANDS_UP.format(call="Base.__init__(self, model, held=loader)"),
    ),
    "an heir without a constructor": _TRAINER.format(
        taken="held", given="DataLoader(data, shuffle=True)  # ML306\n        ", init="name = 'trainer'"
    ),
    "the loader of a trainer": """
        class Engine:
            def __init__(self, model, loader):
                self.model, self.loader = model, loader

            def validate(self):
                self.model.eval()
                for x in self.loader:
                    print(self.model(x))

        def main(model, held_out):
            trainer = Engine(model, DataLoader(held_out, shuffle=True))  # ML306
            trainer.validate()
        """,
    "data that is asked for": _EVALUATE + _ASKED.format(test="test_set is not None", mark="  # ML306"),
}

ACROSS_FILES = {
    "heirs in other files": {
        "base.py": """
            import torch

            class Base:
                def __init__(self, model, loaders):
                    self.model, self.loaders = model, loaders

                def test(self):
                    self.model.eval()
                    with torch.no_grad():
                        for i, x in enumerate(self.loaders["test"], 0):
                            print(i, self.model(x))
            """,
        "net.py": """
            from base import Base

            class Net(Base):
                def __init__(self, options, given):
                    super(Net, self).__init__(options.model, given)
            """,
        "main.py": """
            from torch.utils.data import DataLoader
            from net import Net

            def main(options, sets):
                loaders = {
                    "train": DataLoader(sets["train"], shuffle=True),
                    "test": DataLoader(sets["test"], shuffle=True),  # ML306
                }
                Net(options, loaders).test()
            """,
    },
    "told by the keyword that it is a loader": {
        "trainer.py": """
            import torch

            class Trainer:
                def __init__(self, model, valid_loader):
                    self.model, self.valid_loader = model, valid_loader

                def validate(self):
                    self.model.eval()
                    with torch.no_grad():
                        for x in self.valid_loader:
                            print(self.model(x))
            """,
        "main.py": """
            from torch.utils.data import DataLoader
            from trainer import Trainer

            def main(model, part):
                held_out = DataLoader(part, shuffle=True)  # ML306
                Trainer(model, valid_loader=held_out).validate()
            """,
    },
}


@pytest.mark.parametrize("code", SILENT.values(), ids=SILENT)
def test_silent(code: str, lint: Lint) -> None:
    lint(_HEAD + code, rules=RULES)


@pytest.mark.parametrize("code", FOUND.values(), ids=FOUND)
def test_found(code: str, lint: Lint) -> None:
    lint(_HEAD + code, rules=RULES)


@pytest.mark.parametrize("files", ACROSS_FILES.values(), ids=ACROSS_FILES)
def test_across_files(files: dict[str, str], lint: Lint) -> None:
    lint(files, rules=RULES)


_BARS = """
        def main(model, held_out):
            bar = {bar}(DataLoader(held_out, shuffle=True), desc="held out"){mark}
            evaluate(model, bar)
"""


@pytest.mark.parametrize("bar", ["tqdm", "tqdm_notebook", "progress_bar", "track", "alive_it"])
def test_a_progress_bar_gives_what_it_is_given(lint: Lint, bar: str) -> None:
    lint(_HEAD + _EVALUATE + _BARS.format(bar=bar, mark="  # ML306"), rules=RULES)


def test_something_else_around_a_loader_may_sort_it(lint: Lint) -> None:
    lint(_HEAD + _EVALUATE + _BARS.format(bar="sorted_by_length", mark=""), rules=RULES)
