"""What the analyzer hands back: places, confidence, related places, order, errors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from textwrap import dedent
from types import MappingProxyType

import pytest

from modellint.catalog import ActiveRule, load_frameworks, load_rules
from modellint.diagnostic import Confidence, Severity
from modellint.sources import SourceFile, read_source
from modellint.static import Analyzer
from modellint.static import analyzer as analyzers
from modellint.static.analyzer import RuleCrash
from modellint.static.context import Finding
from tests.static.conftest import Lint, analyzer, write

DEFECT = """
import torch
from torchvision.models import resnet18

def main(path, x):
    net = resnet18()
    net.load_state_dict(torch.load(path, weights_only=True))
    with torch.no_grad():
        return net(x).argmax(-1).item()  # ML101
"""


@pytest.mark.parametrize(
    "text",
    ["", "\n", "# a comment", "'''a docstring'''", "\ufeffimport torch", "import torch\r\nx = 1\r\n", "x = 1", "..."],
    ids=repr,
)
def test_texts_without_anything(tmp_path: Path, text: str) -> None:
    assert analyzer(tmp_path).check(SourceFile(tmp_path / "a.py", text.removeprefix("\ufeff"))) == []


def test_no_rules_no_findings(tmp_path: Path) -> None:
    [path] = write(tmp_path, {"app.py": DEFECT})

    assert analyzer(tmp_path, rules=[]).check(read_source(path)) == []


def test_what_nobody_can_tell_is_only_possible(lint: Lint) -> None:
    text = """
        import torch.nn.functional as F
        from torch import nn

        class Prenet(nn.Module):
            def forward(self, x):
                return F.dropout(x, 0.5, training=True){mark}

        def evaluate(model, loader):
            for x in loader:
                print(model(x).argmax(-1).item()){other}
        """
    lint(text.format(mark="", other=""))
    lint(text.format(mark="  # ML104", other="  # ML201"), possible=True)


def test_places_count_from_one_and_in_characters(lint: Lint) -> None:
    [found] = lint(
        """
        from torchvision.models import resnet18
        import torch

        net = resnet18(weights="DEFAULT")
        with torch.no_grad(): größe = "äöü"; print(net(torch.ones(1, 3, 8, 8)).argmax())  # ML101
        """
    )

    row = found.span.start.row
    assert row == 6
    line = 'with torch.no_grad(): größe = "äöü"; print(net('
    assert found.span.start.column == line.index("net(") + 1
    assert found.span.end.row == 6
    assert found.span.end.column > found.span.start.column


def test_one_cause_in_one_scope_is_one_finding(lint: Lint) -> None:
    lint(
        """
        import torch
        from torchvision.models import resnet18

        @torch.no_grad()
        def predict(x, y):
            net = resnet18(weights="DEFAULT")
            print(net(x).argmax(-1))  # ML101
            print(net(y).argmax(-1))
            return net(x + y).argmax(-1).item()
        """
    )


def test_the_story_is_told_in_related_places(lint: Lint) -> None:
    [found] = lint(DEFECT)

    assert [(related.position.row, "training" in related.message) for related in found.related] == [(6, True)]


def test_the_wrong_caller_is_told_where_the_forward_is(lint: Lint) -> None:
    [found] = lint(
        {
            "metrics.py": """
                import torch

                @torch.no_grad()
                def accuracy(model, loader):
                    return sum((model(x).argmax(1) == y).sum().item() for x, y in loader)
                """,
            "app.py": """
                from metrics import accuracy
                from torchvision.models import resnet18

                def right(loader):
                    print(accuracy(resnet18(weights="DEFAULT").eval(), loader))

                def wrong(loader):
                    print(accuracy(resnet18(weights="DEFAULT"), loader))  # ML101
                """,
        },
        check=["app.py"],
    )

    assert ("metrics.py", 6) in [(Path(related.filename).name, related.position.row) for related in found.related]


def test_messages_name_what_is_active(lint: Lint) -> None:
    [found] = lint(
        """
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.drop = nn.Dropout(p=0.3)

            def forward(self, x):
                return self.drop(x)

        def predict(path, x):
            net = Net()
            net.load_state_dict(torch.load(path, weights_only=True))
            with torch.no_grad():
                return net(x).argmax(-1).item()  # ML101
        """
    )

    assert "Dropout(p=0.3)" in found.message
    assert "no_grad does not switch it off" in found.message


def test_findings_come_in_the_order_of_the_text(lint: Lint) -> None:
    found = lint(
        """
        import torch
        from torchvision.models import resnet18

        net = resnet18(weights="DEFAULT")
        net.eval  # ML102
        torch.no_grad()  # ML203
        print(net(torch.load("x.pt")).argmax())  # ML101, ML201, ML403
        """
    )

    assert [d.span.start.row for d in found] == sorted(d.span.start.row for d in found)


def test_the_severity_is_what_the_configuration_says(tmp_path: Path) -> None:
    [path] = write(tmp_path, {"app.py": DEFECT})
    rule = replace(ActiveRule.default(load_rules()["ML101"]), severity=Severity.INFO)

    [found] = Analyzer({"ML101": rule}, load_frameworks(), tmp_path).check(read_source(path))

    assert found.severity is Severity.INFO
    assert found.confidence is Confidence.CERTAIN


def test_a_team_s_own_loader_needs_only_knowledge(tmp_path: Path) -> None:
    text = dedent(
        """
        import torch
        from ourlib import load_net

        @torch.no_grad()
        def predict(path, x):
            return load_net(path)(x).argmax(-1).item()
        """
    )
    source = SourceFile(tmp_path / "app.py", text)
    [timm] = [framework for framework in load_frameworks() if framework.name == "timm"]
    loader = replace(timm.loaders[0], call="ourlib.load_net")
    ours = replace(timm, name="ourlib", roots=("ourlib",), loaders=(loader,))
    rules = {"ML101": ActiveRule.default(load_rules()["ML101"])}

    assert Analyzer(rules, load_frameworks(), tmp_path).check(source) == []
    assert len(Analyzer(rules, [*load_frameworks(), ours], tmp_path).check(source)) == 1


def test_text_that_does_not_parse(tmp_path: Path) -> None:
    with pytest.raises(SyntaxError):
        analyzer(tmp_path).check(SourceFile(tmp_path / "a.py", "import torch\nprint 'hello'\n"))


def test_a_rule_that_crashes_is_named(tmp_path: Path) -> None:
    rule = load_rules()["ML109"]
    broken = ActiveRule(replace(rule, detector_options=MappingProxyType({})), rule.severity, MappingProxyType({}))
    source = SourceFile(tmp_path / "app.py", DEFECT)

    with pytest.raises(RuleCrash, match=r"app\.py: rule ML109 crashed: KeyError") as crash:
        Analyzer({"ML109": broken}, load_frameworks(), tmp_path).check(source)

    assert crash.value.code == "ML109"
    assert isinstance(crash.value.__cause__, KeyError)


def test_a_rule_that_calls_itself_for_ever_is_to_blame(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def detect(*_: object) -> Iterator[Finding]:
        yield from detect()

    monkeypatch.setattr(analyzers, "detector", lambda name: detect)
    with pytest.raises(RuleCrash, match="RecursionError"):
        analyzer(tmp_path).check(SourceFile(tmp_path / "app.py", DEFECT))
    with pytest.raises(RecursionError):  # as any recursion may fail on such a text
        analyzer(tmp_path).check(SourceFile(tmp_path / "app.py", DEFECT + f"y = {'-' * 300}1\n"))
