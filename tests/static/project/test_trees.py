"""Trees are let go between files and come back: the findings stay the same, in whatever order files are checked."""

from __future__ import annotations

import argparse
import ast
import typing
import unittest.mock
from itertools import permutations
from pathlib import Path

import pytest

import modellint
from modellint.sources import read_source
from modellint.static import Analyzer
from modellint.static.guards import path_to
from modellint.static.project import parsed_files
from modellint.static.project.scanning import function_of, scan
from modellint.static.project.trees import children, functions_in, parse_function, parse_text, rows_of, walk
from tests.static.conftest import analyzer, write

FILES = {
    "nets.py": """
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.1))

            def forward(self, x):
                return self.body(x)

        def load(path):
            net = Net()
            net.load_state_dict(torch.load(path, weights_only=True))
            return net
        """,
    "metrics.py": """
        import torch

        @torch.no_grad()
        def accuracy(model, loader):
            return sum((model(x).argmax(1) == y).sum().item() for x, y in loader)
        """,
    "first.py": """
        from metrics import accuracy
        from nets import load

        def main(path, loader):
            print(accuracy(load(path), loader))
        """,
    "second.py": """
        import torch
        from nets import load

        @torch.no_grad()
        def main(path, x):
            print(load(path)(x).argmax(-1))
        """,
}


def findings(subject: Analyzer, paths: list[Path]) -> set[tuple[str, int, str, str]]:
    return {
        (Path(d.filename).name, d.span.start.row, d.code, d.message)
        for path in paths
        for d in subject.check(read_source(path))
    }


@pytest.fixture
def project(tmp_path: Path) -> list[Path]:
    return write(tmp_path, FILES)


def test_trees_that_are_dropped_after_every_file_change_nothing(
    project: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = findings(analyzer(tmp_path, project), project)
    monkeypatch.setattr(parsed_files, "TREE_BUDGET", 0)
    dropped = findings(analyzer(tmp_path, project), project)

    assert {code for _, _, code, _ in kept} == {"ML101"}
    assert dropped == kept


def test_files_checked_twice_say_the_same(project: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parsed_files, "TREE_BUDGET", 0)
    subject = analyzer(tmp_path, project)

    assert findings(subject, project) == findings(subject, project) != set()


def test_the_order_of_the_files_changes_nothing(project: list[Path], tmp_path: Path) -> None:
    outcomes = {frozenset(findings(analyzer(tmp_path, project), list(order))) for order in permutations(project)}

    assert len(outcomes) == 1


def test_one_analyzer_sees_the_new_text_of_a_file(project: list[Path], tmp_path: Path) -> None:
    subject = analyzer(tmp_path, project)
    first = findings(subject, project)
    nets = tmp_path / "nets.py"
    nets.write_text(nets.read_text(encoding="utf-8").replace("return net\n", "return net.eval()\n"), encoding="utf-8")

    assert first
    assert findings(subject, project) == set()


SOURCES = sorted(Path(parsed_files.__file__).parents[2].rglob("*.py")) + [
    Path(m.__file__) for m in (ast, argparse, typing, unittest.mock)
]  # type: ignore[arg-type]


def dump(node: ast.AST) -> str:
    return ast.dump(node, include_attributes=True)


def test_a_function_that_is_parsed_alone_is_what_it_is_in_its_file() -> None:
    count = 0
    for path in SOURCES:
        text = read_source(path).text
        lines = text.split("\n")
        for node in functions_in(parse_text(text, path).body):
            alone = parse_function(lines, rows_of(node), path)
            assert alone is not None
            assert dump(alone) == dump(node), f"{path}:{node.lineno}"
            count += 1
    assert count > 1500


ODD = '''\
import torch

@torch.no_grad()
# a comment
@decorate(
    1)
def decorated(x, y="""
not indented"""):
    return """
also not
"""

class Net:
\t@property
\tdef tabs(self): return 1; x = 2

\tasync def waits(self):
\t\tawait 1
\t\tdef inner(): return lambda: 0
\t\tclass Local:
\t\t\tdef method(self): ...

if True:
    def in_a_block(): pass
# comment at the left
    def after_it():
        pass  # ünïcödé \U0001f600
'''


@pytest.mark.parametrize("together", [False, True])
def test_odd_definitions(tmp_path: Path, together: bool) -> None:
    whole = scan(tmp_path / "a.py", ODD, parse_text(ODD, tmp_path / "a.py"), {})
    expected = [dump(function.node) for function in whole.functions if function.node is not None]
    whole.syntax.let_go()
    assert whole.syntax.held == 0
    found = [whole.functions[-1].node] if together else []
    assert len(found) == together
    assert [dump(function.node) for function in whole.functions if function.node is not None] == expected


def test_a_function_stays_the_same_when_the_rest_of_its_file_comes_back(tmp_path: Path) -> None:
    module = scan(tmp_path / "a.py", ODD, parse_text(ODD, tmp_path / "a.py"), {})
    module.syntax.let_go()
    by_name = {function.name: function for function in module.functions}
    alone, inner = by_name["in_a_block"].body, by_name["inner"].node
    assert 0 < module.syntax.held < module.syntax.size
    tree = module.tree
    assert module.syntax.held == module.syntax.size
    assert by_name["in_a_block"].body is alone
    assert by_name["inner"].node is inner
    placed = {node.name: node for node in functions_in(tree.body)}
    assert all(function.node is placed[name] for name, function in by_name.items())


def test_a_large_part_of_a_file_brings_back_all_of_it(tmp_path: Path) -> None:
    text = "def large(x):\n" + "    x += 1\n" * 50 + "def small(x): pass\n"
    module = scan(tmp_path / "a.py", text, parse_text(text, tmp_path / "a.py"), {})
    module.syntax.let_go()
    assert module.functions[0].node is not None
    assert module.syntax.held == module.syntax.size


def emptied(tree: ast.Module) -> list[str]:
    """Return the statements of a program without what its outermost functions hold, and without where blocks end."""
    for node in functions_in(tree.body):
        node.body = []
    for node in ast.walk(tree):
        if isinstance(node, (ast.stmt, ast.excepthandler)) and hasattr(node, "body"):
            node.end_lineno = node.end_col_offset = 0
    return [dump(node) for node in tree.body]


def test_the_top_level_comes_back_without_what_functions_hold(tmp_path: Path) -> None:
    texts = [ODD, EVERY_KIND, *(read_source(path).text for path in SOURCES)]
    for text in texts:
        path = tmp_path / "a.py"
        module = scan(path, text, parse_text(text, path), {})
        module.syntax.let_go()
        assert emptied(ast.Module(module.body.body, [])) == emptied(parse_text(text, path))
        assert (module.syntax.held < module.syntax.size) == bool(module.functions)


def test_the_top_level_stays_the_same_until_its_file_is_checked(tmp_path: Path) -> None:
    text = "if f():\n    class A:\n        b = f(0)\n        def c(self): return 1\ng(f(1))\n"
    module = scan(tmp_path / "a.py", text, parse_text(text, tmp_path / "a.py"), {})
    module.syntax.let_go()
    top, calls = module.body.body, module.body.calls
    assert len(calls) == 4
    assert len(module.functions[0].body) == 1
    assert module.tree.body is not top
    assert module.body.body is top
    assert [path_to(module.body, call)[-1] for call in module.body.calls] == calls
    module.syntax.restore()
    assert module.body.body is module.tree.body
    assert all(path_to(module.body, call)[-1] is call for call in module.body.calls)
    module.syntax.let_go()
    assert module.syntax.held == 0


def test_a_top_level_that_cannot_be_cut_out_comes_back_with_all_the_rest(tmp_path: Path) -> None:
    text = "x = 1\rdef f():\r    return x\rdef g():\n    return f()\n"  # rows that `split` does not see
    module = scan(tmp_path / "a.py", text, parse_text(text, tmp_path / "a.py"), {})
    module.syntax.let_go()
    assert [dump(node) for node in module.body.body] == [dump(node) for node in parse_text(text, module.path).body]
    assert module.syntax.held == module.syntax.size


def test_calls_of_a_name_are_looked_for_only_where_there_are_some(tmp_path: Path) -> None:
    text = "def f(net, x):\n    def g(): return x.item()\n    return net.eval()(x), net.eval\n"
    module = scan(tmp_path / "a.py", text, parse_text(text, tmp_path / "a.py"), {})
    module.syntax.let_go()
    function = module.body.functions["f"]
    assert function.calls_of("train", "f") == []
    assert module.syntax.held == 0
    assert [ast.unparse(call) for call in function.calls_of("eval", "train")] == ["net.eval()(x)", "net.eval()"]
    assert function.calls_of("item") == []  # it is called by the function inside


EVERY_KIND = """
import os as system
from a.b import *
def f(a, /, b: int = 1, *c, d=None, e, **g) -> {**a, 1: 2}:
    global h
    nonlocal_ = not -a ** b < c is not d and [x async for x in e if x]
    try:
        with a as b, c: del d[1:2, ...]
    except (A, B) as error:
        raise error from None
    match a:
        case {"k": [1, *rest], **more} | Point(x=0, y=None) as p if p: pass
        case None | True: pass
        case _: return f"{a!r:>{b}}"
    return lambda *, k=1: (yield from (await z for z in (a := b)))
class C(B, metaclass=M):
    x: int
    y += 1
"""


def test_a_walk_meets_every_node_that_has_something_below_it_or_stands_for_itself() -> None:
    below_nothing = (ast.expr_context, ast.operator, ast.unaryop, ast.cmpop, ast.boolop)
    texts = [EVERY_KIND, *(path.read_text("utf-8") for path in sorted(Path(modellint.__file__).parent.rglob("*.py")))]
    for text in texts:
        tree = ast.parse(text)
        assert list(walk(tree)) == [node for node in ast.walk(tree) if not isinstance(node, below_nothing)]
        assert children(tree.body[0]) == [
            node for node in ast.iter_child_nodes(tree.body[0]) if not isinstance(node, below_nothing)
        ]


def test_names_that_many_functions_speak_of_are_kept_once(tmp_path: Path) -> None:
    text = "def f(x):\n    y = g(x)\n    return y.eval()\n\ndef h(x):\n    return x\n"
    shared: dict[frozenset[str], frozenset[str]] = {}
    (f, h), (again, _) = (
        scan(tmp_path / name, text, parse_text(text, tmp_path / name), shared).functions for name in ("a.py", "b.py")
    )
    assert (f.callees, f.words, f.stores) == ({"g", "eval"}, {"eval"}, {"y"})
    assert h.callees == set()
    assert f.callees is again.callees
    assert f.words is again.words
    assert f.stores is again.stores


def test_what_a_lambda_holds_is_of_the_lambda_as_well() -> None:
    text = "def run(session):\n    return lambda x: session.run(None, x).argmax()\n"
    module = scan(Path("run.py"), text, ast.parse(text), {})
    outer = module.functions[0]
    node = next(found for found in ast.walk(ast.parse(text)) if isinstance(found, ast.Lambda))
    body = ast.copy_location(ast.Return(node.body), node.body)
    made = ast.copy_location(ast.FunctionDef("<lambda>", node.args, [body], [], None), node)

    function = function_of(module, "<lambda>", made, outer)

    assert [ast.unparse(call.func) for call in function.calls] == ["session.run(None, x).argmax", "session.run"]
    assert function.callees == {"run", "argmax"}
    assert function.words == {"argmax"}
    assert function.given == ("x",)
    assert module.functions == [outer]
