"""What is found does not depend on what was asked before: files are divided among processes as it comes."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest

from modellint.catalog import load_frameworks
from modellint.sources import read_source
from modellint.static.classes import Classes
from modellint.static.knowledge import Knowledge
from modellint.static.origins import Resolver, resolver
from modellint.static.origins.values import EVERYWHERE, Origin
from modellint.static.project import Project
from modellint.static.project.parsed_files import ModuleInfo
from tests.static.conftest import analyzer, write

LENGTH = 6


@pytest.fixture
def load(tmp_path: Path) -> Callable[[str], tuple[Project, ModuleInfo]]:
    def run(text: str) -> tuple[Project, ModuleInfo]:
        path = tmp_path / "app.py"
        path.write_text(dedent(text), encoding="utf-8")
        project = Project(tmp_path)
        module = project.files.module(path)
        assert module is not None
        return project, module

    return run


def chain() -> str:
    """Return names of which each asks the one before for the condition of its choice."""
    lines = [f"v{number} = 1 if v{number - 1} == {min(number - 1, 1)} else 2" for number in range(1, LENGTH)]
    return "\n".join(["v0 = 0", *lines])


@pytest.mark.parametrize(
    ("limit", "value"), [("MAX_NESTED", n) for n in (2, 3, 4)] + [("MAX_STEPS", n) for n in (5, 9)]
)
def test_a_budget_ends_a_question_at_the_same_place(
    limit: str, value: int, load: Callable[[str], tuple[Project, ModuleInfo]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resolver, limit, value)
    project, module = load(chain())
    compared = [
        node.left for statement in module.body.body for node in ast.walk(statement) if isinstance(node, ast.Compare)
    ]
    questions = [Origin(name, module.body, EVERYWHERE) for name in compared]

    def answer(subject: Resolver, question: Origin) -> list[str]:
        return [ast.unparse(one.node) for one in subject.origins(question) if one.node is not None]

    cold = [answer(Resolver(project), question) for question in questions]
    assert cold[0] == ["0"]
    assert cold[-1] != ["1"]  # the budget is too small for the last one
    forwards, backwards = Resolver(project), Resolver(project)
    assert [answer(forwards, question) for question in questions] == cold
    assert [answer(backwards, question) for question in reversed(questions)] == cold[::-1]


def test_methods_that_call_each_other_run_what_one_of_them_runs(
    load: Callable[[str], tuple[Project, ModuleInfo]],
) -> None:
    project, module = load("""
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(3, 3)

            def first(self, x, depth):
                return self.second(x, depth) + self.layer(x)

            def second(self, x, depth):
                return self.third(x, depth)

            def third(self, x, depth):
                return self.first(x, depth - 1) if depth else x
        """)
    methods = [module.classes[0].methods[name] for name in ("first", "second", "third")]
    classes = Classes(project, Knowledge(load_frameworks()))
    assert [classes.runs_forward(method) for method in methods] == [True, True, True]


def test_of_two_equal_causes_the_same_one_is_told(tmp_path: Path) -> None:
    """The order of the objects that a name may stand for hung on how many objects there had been before."""
    files = {
        "app.py": """
            import torch
            from zoo import MODELS

            def main(cfg, x):
                model = MODELS[cfg.name]()
                model.load_state_dict(torch.load(cfg.ckpt, weights_only=True))
                with torch.no_grad():
                    print(model(x).argmax(-1))
            """,
        "zoo.py": """
            from torch import nn

            class A(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.fc = nn.Linear(3, 3)

                def forward(self, x):
                    return self.fc(x)

            class B(A):
                def __init__(self):
                    super().__init__()
                    self.fc = nn.Conv2d(3, 3, 1)

            MODELS = {"a": A, "b": B}
            """,
    }
    paths = write(tmp_path, files)
    source = read_source(paths[0])
    messages = {d.message for _ in range(20) for d in analyzer(tmp_path, paths, ["ML101"]).check(source)}
    assert len(messages) == 1
