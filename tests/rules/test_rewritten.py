"""The rules' own examples, rewritten as people write: what means nothing must change nothing, in the good and the bad.

Silence is asked as well: what makes an example right must be seen through the same rewriting.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from modellint.catalog import load_rules
from modellint.diagnostic import Confidence
from modellint.sources import SourceFile
from tests.static.conftest import analyzer

CODES = ("ML101", "ML103", "ML201")
RULES = load_rules()
ROOT = Path("/project")
_DATA = re.compile(r"loader$|batches$|(^|_)data$|rows$|images$")

DIFFERENT = {
    ("autocast", "Contexts that somebody else chose"),  # a loop that enters them, each within a block then
}
"""What a rewriting changes indeed."""


class Rewriting(ast.NodeTransformer):
    """Does nothing yet; `changed` tells whether it found something to rewrite."""

    def __init__(self) -> None:
        self.changed = False


class WithProgressBar(Rewriting):
    """`with tqdm(loader) as bar: for batch in bar:` for a loop over a loader."""

    def visit_For(self, node: ast.For) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.iter, ast.Name) or not _DATA.search(node.iter.id):
            return node
        self.changed = True
        (block,) = ast.parse("with tqdm(loader, total=9) as bar:\n    pass").body
        assert isinstance(block, ast.With)
        call = block.items[0].context_expr
        assert isinstance(call, ast.Call)
        call.args = [node.iter]
        node.iter = ast.Name("bar", ast.Load())
        block.body = [node]
        return block


class Counted(Rewriting):
    """`for number, batch in enumerate(loader):`."""

    def visit_For(self, node: ast.For) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.iter, ast.Name) and _DATA.search(node.iter.id):
            self.changed = True
            node.iter = ast.Call(ast.Name("enumerate", ast.Load()), [node.iter], [])
            node.target = ast.Tuple([ast.Name("number", ast.Store()), node.target], ast.Store())
        return node


class UnderAutocast(Rewriting):
    """`with torch.autocast("cuda"):` within each loop."""

    def visit_For(self, node: ast.For) -> ast.AST:
        self.generic_visit(node)
        self.changed = True
        (block,) = ast.parse("with torch.autocast('cuda'):\n    pass").body
        assert isinstance(block, ast.With)
        block.body, node.body = node.body, [block]
        return node


class Wrapped(Rewriting):
    """`net = torch.nn.DataParallel(net)` after a network of the example is built."""

    def visit_Module(self, node: ast.Module) -> ast.AST:
        self.classes = {part.name for part in ast.walk(node) if isinstance(part, ast.ClassDef)}
        self.generic_visit(node)
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.AST | list[ast.stmt]:
        made = node.value.func.id if isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Name) else ""
        target = node.targets[0]
        if made not in self.classes or not made.endswith("Net") or not isinstance(target, ast.Name):
            return node
        self.changed = True
        return [node, *ast.parse(f"{target.id} = torch.nn.DataParallel({target.id})").body]


class Logged(Rewriting):
    """A condition that concerns nothing at the head of each loop."""

    def visit_For(self, node: ast.For) -> ast.AST:
        self.generic_visit(node)
        self.changed = True
        node.body = [*ast.parse("if verbose:\n    print('next')").body, *node.body]
        return node


REWRITINGS: dict[str, Callable[[], Rewriting]] = {
    "a progress bar": WithProgressBar,
    "a count": Counted,
    "autocast": UnderAutocast,
    "several devices": Wrapped,
    "a line in the log": Logged,
}


def examples() -> Iterator[object]:
    for code in CODES:
        for case in RULES[code].cases:
            if case.code and len(case.files) == 1 and "torch" in case.code:
                yield pytest.param(code, case.code, case.title, id=f"{code}-{case.title}")


def found(text: str, code: str) -> int:
    """Return how many findings a file of this text has."""
    path = ROOT / "app.py"
    diagnostics = analyzer(ROOT, [path], [code]).check(SourceFile(path, text))
    return sum(found.code == code and found.confidence is not Confidence.POSSIBLE for found in diagnostics)


@pytest.mark.parametrize(("code", "text", "title"), list(examples()))
def test_what_means_nothing_changes_nothing(code: str, text: str, title: str) -> None:
    before = found(ast.unparse(ast.parse(text)), code)
    for name, rewriting in REWRITINGS.items():
        rewriter = rewriting()
        rewritten = ast.fix_missing_locations(rewriter.visit(ast.parse(text)))
        if rewriter.changed and (name, title) not in DIFFERENT:
            program = ast.unparse(rewritten)
            assert found(f"from tqdm import tqdm\nimport torch\n{program}", code) == before, f"{name}:\n{program}"
