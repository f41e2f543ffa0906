"""Patterns: each key narrows a rule down to what it says. Lines marked `# ours` are reported, and no other."""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import dedent

import pytest

from modellint.catalog import ActiveRule, load_frameworks, load_rule
from modellint.sources import read_source
from modellint.static import Analyzer

RULE = """\
code: ACME001
name: house-rule
family: local
severity: error
summary: A rule.
message: "{call} {name} {value}"
what-it-does: Nothing.
why-is-this-bad: It is not.
runs-on: python
detect: %s
examples:
  good: [{title: Silent, code: "x = 1"}]
  bad: [{title: Found, code: "load()  # finding"}]
"""

CASES = {
    "classes that derive from one": (
        {"class": ["torch.nn.Module"], "outside": {"class": ["app.Base"]}},
        """
        from torch import nn

        class Plain: ...

        class Base(nn.Module): ...

        class Ours(Base): ...

        @registered
        class Theirs(nn.Module): ...  # ours

        def build():
            class Inner(Theirs): ...  # ours
        """,
    ),
    "classes that define a method, or lack one": (
        {"class": ["acme.Job"], "defines": ["open"], "lacks": ["close"]},
        """
        from acme import Job

        class Neither(Job):
            def run(self): ...

        class Both(Job):
            def open(self): ...
            def close(self): ...

        class Leaks(Job):  # ours
            def open(self): ...

        class Inherits(Both):
            def open(self): ...
        """,
    ),
    "a class of the project around a call": (
        {"call": ["acme.load"], "inside": {"class": ["app.Base"]}},
        """
        from acme import load

        class Base:
            def run(self):
                load()  # ours

        class Derived(Base):
            model = load()  # ours

            def go(self):
                load()  # ours

        class Other:
            model = load()

            def go(self):
                load()
        """,
    ),
    "a call under any name it was imported by": (
        {"call": ["acme.zoo.load"]},
        """
        import acme.zoo
        from acme import zoo as z
        from acme.zoo import load, save

        acme.zoo.load(1)  # ours
        z.load(1)  # ours
        load(1)  # ours
        save(1)
        other.load(1)
        """,
    ),
    "wildcards": (
        {"call": ["torch.nn.*Norm*"]},
        """
        from torch import nn

        nn.Linear(2, 2)
        nn.BatchNorm1d(2)  # ours
        """,
    ),
    "an argument that is missing": (
        {"call": ["acme.load"], "arguments": {"mode": {"position": 1, "missing": True}}},
        """
        from acme import load

        load("x", mode=1)
        load("x", 1)
        load("x", **options)
        load(*names)
        load("x")  # ours
        """,
    ),
    "a constant, followed through variables": (
        {"call": ["acme.load"], "arguments": {"mode": {"equals": ["train", None]}}},
        """
        from acme import load

        MODE = "train"

        def run(mode):
            load(mode=mode)
            load(mode="eval")
            load()
            load(mode=MODE)  # ours
            load(mode=None)  # ours
        """,
    ),
    "true is not one": (
        {"call": ["acme.load"], "arguments": {"strict": {"equals": True}}},
        """
        from acme import load

        load(strict=1)
        load(strict=True)  # ours
        """,
    ),
    "another constant": (
        {"call": ["acme.load"], "arguments": {"mode": {"not-equals": "eval"}}},
        """
        from acme import load

        load(mode=config.mode)
        load(mode="eval")
        load(mode="train")  # ours
        """,
    ),
    "types and texts": (
        {"call": ["acme.load"], "arguments": {"a": {"type": ["string"], "matches": "^http:"}}},
        """
        from acme import load

        load(a=1)
        load(a="https://x")
        load(a="http://x")  # ours
        """,
    ),
    "where a value comes from": (
        {"call": ["acme.publish"], "arguments": {"model": {"position": 0, "from": ["acme.load"]}}},
        """
        from acme import load, make, publish

        publish(make())
        model = load()
        publish(model)  # ours
        """,
    ),
    "methods of what something returned": (
        {"method": ["run"], "of": ["acme.make"]},
        """
        from acme import make, other

        engine = make()
        other().run()
        engine.stop()
        engine.run()  # ours
        """,
    ),
    "assignments": (
        {"assign": ["acme.flags.fast"], "value": {"equals": True}},
        """
        import acme
        from acme import flags

        acme.flags.fast = False
        flags.slow = True
        flags.fast = True  # ours
        """,
    ),
    "inside a forward, outside a guard": (
        {"call": ["torch.rand"], "inside": {"forward": True}, "outside": {"training-guard": True}},
        """
        import torch
        from torch import nn

        class Net(nn.Module):
            def forward(self, x):
                if self.training:
                    x = x + torch.rand(1)
                return x + torch.rand(1)  # ours

            def sample(self):
                return torch.rand(1)
        """,
    ),
    "outside the handler of an exception": (
        {"call": ["torch.rand"], "outside": {"except": "TypeError"}},
        """
        import torch

        try:
            torch.rand(1)  # ours
        except (TypeError, OSError):
            torch.rand(1)
        except ValueError:
            torch.rand(1)  # ours
        except:
            torch.rand(1)  # ours
        """,
    ),
    "inside a with block, or what is decorated with it": (
        {"call": ["torch.rand"], "inside": {"with": ["torch.no_grad"]}},
        """
        import torch

        @torch.no_grad()
        def one():
            return torch.rand(1)  # ours

        def two():
            with torch.no_grad():
                torch.rand(1)  # ours
            return torch.rand(1)
        """,
    ),
    "inside loops, functions and classes": (
        {"call": ["torch.rand"], "inside": {"loop": True, "function": "^serve", "class": ["acme.Service"]}},
        """
        import torch
        from acme import Service

        class Ours(Service):
            def serve(self):
                torch.rand(1)
                return [torch.rand(1) for _ in range(2)]  # ours

            def warm_up(self):
                return [torch.rand(1) for _ in range(2)]

        def serve():
            return [torch.rand(1) for _ in range(2)]
        """,
    ),
    "under a condition": (
        {"call": ["torch.rand"], "outside": {"guard": "debug"}},
        """
        import torch

        def run(debug):
            if debug:
                torch.rand(1)
            torch.rand(1)  # ours
        """,
    ),
    "on an inference path": (
        {"call": ["torch.autocast"], "inference": True},
        """
        import torch

        def train(model, x, optimizer):
            with torch.autocast("cuda"):
                loss = model(x).sum()
            loss.backward()

        def predict(model, x):
            with torch.autocast("cuda"):  # ours
                return model(x)

        @torch.no_grad()
        def answer(model, x):
            with torch.autocast("cuda"):  # ours
                return model(x)
        """,
    ),
    "made by a constructor for methods that predict": (
        {"call": ["acme.load"], "inference": True},
        """
        import acme
        import torch

        class Service:
            def __init__(self):
                self.model = acme.load("a")  # ours

            def describe(self):
                return acme.load("b")

            @torch.no_grad()
            def answer(self, x):
                return self.model(x)

        class Card:
            def __init__(self):
                self.model = acme.load("a")

            def describe(self):
                return str(self.model)
        """,
    ),
    "made at the top of a file for functions that predict": (
        {"call": ["acme.load"], "inference": True},
        """
        import acme

        model = acme.load("a")  # ours

        def predict(x):
            return model(x)
        """,
    ),
    "made at the top of a file that says nothing": (
        {"call": ["acme.load"], "inference": True},
        """
        import acme

        model = acme.load("a")

        def describe():
            return str(model)
        """,
    ),
    "made for training as well": (
        {"call": ["acme.load"], "inference": True},
        """
        import acme

        model = acme.load("a")

        class Runner:
            def __init__(self):
                self.model = acme.load("a")

            def predict(self, x):
                return self.model(x)

        def update(x, optimizer):
            model(x).sum().backward()
            optimizer.step()
        """,
    ),
    "made for what is named for training": (
        {"call": ["acme.load"], "inference": True},
        """
        import acme

        class Runner:
            def __init__(self):
                self.model = acme.load("a")

            def fit(self, data):
                acme.optimise(self.model, data)

            def predict(self, x):
                return self.model(x)
        """,
    ),
}


@pytest.mark.parametrize(("pattern", "code"), CASES.values(), ids=CASES)
def test_pattern(pattern: object, code: str, tmp_path: Path) -> None:
    path = tmp_path / "rule.yaml"
    path.write_text(RULE % json.dumps({"pattern": pattern}), encoding="utf-8")
    source = tmp_path / "app.py"
    source.write_text(dedent(code), encoding="utf-8")
    rule = ActiveRule.default(load_rule(path))
    found = Analyzer({rule.rule.code: rule}, load_frameworks(), tmp_path).check(read_source(source))
    marked = [row for row, line in enumerate(dedent(code).splitlines(), 1) if line.endswith("# ours")]
    assert sorted({d.span.start.row for d in found}) == marked


def test_a_message_tells_the_call_its_name_and_the_value(tmp_path: Path) -> None:
    path = tmp_path / "rule.yaml"
    detect = {"pattern": {"call": ["acme.load"], "arguments": {"mode": {"equals": "x"}}}}
    path.write_text(RULE % json.dumps(detect), encoding="utf-8")
    source = tmp_path / "app.py"
    source.write_text("from acme import load as fetch\nfetch(mode='x')\n", encoding="utf-8")
    rule = ActiveRule.default(load_rule(path))
    (found,) = Analyzer({rule.rule.code: rule}, load_frameworks(), tmp_path).check(read_source(source))
    assert found.message == "fetch acme.load mode='x'"
