"""Which conditions of a rule's detector no example of the rule needs.

    python benchmarks/mutation.py [RULE ...] [--words] [--module modellint.static.NAME ...]

Each condition is dropped in turn: an operand of `and` / `or`, the test of an `if`, of a conditional expression or
of a comprehension, a `not`; each comparison is turned round; with `--words` each string of a set is left out. The
examples of all rules that share the detector are then run with what is left. A mutant that all of them pass is
printed with its place: an example is missing, or the condition is for nothing. Exits with 1 where there is one.

What only narrows a type (`isinstance`, `is None` as an operand) is left alone, for mypy wants it; so is a condition
with a comment `# equivalent: WHY` on one of its lines: it changes no result.
"""

from __future__ import annotations

import argparse
import ast
import dataclasses
import importlib
import re
import signal
import sys
import tempfile
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from modellint.catalog import ActiveRule, Example, Rule, load_frameworks, load_rules
from modellint.sources import SourceFile, read_source
from modellint.static import Analyzer, analyzer
from modellint.static.analyzer import Detector

DETECTORS = "modellint.static.detectors"
SECONDS = 20
_EXITS = (ast.Return, ast.Continue, ast.Break, ast.Raise)
_TURNED: Mapping[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.Lt: ast.GtE,
    ast.GtE: ast.Lt,
    ast.Gt: ast.LtE,
    ast.LtE: ast.Gt,
}
_NARROWS = re.compile(r"^(not )?isinstance\(.*\)$|^\S+ is (not )?None$", re.S)
_EMPTY = frozenset({"()", "[]", "{}", "''", "None"})
_EQUIVALENT = re.compile(r"#\s*equivalent:\s*\S")


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change to a module: `holder.field`, or its item `index`, becomes `value`."""

    kind: str
    condition: ast.expr
    holder: ast.AST
    field: str
    index: int | None
    value: object

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Change the tree for as long as the block runs."""
        before = getattr(self.holder, self.field)
        after = self.value
        if self.index is not None:
            after = [*before[: self.index], self.value, *before[self.index + 1 :]]
            after = [item for item in after if item is not None]
        setattr(self.holder, self.field, after)
        try:
            yield
        finally:
            setattr(self.holder, self.field, before)


@dataclass(frozen=True, slots=True)
class Case:
    """An example that is written to a folder of its own, with an analyzer that has read it."""

    rule: Rule
    example: Example
    source: SourceFile
    analyzer: Analyzer

    def passes(self, detect: Detector) -> bool:
        """Tell whether exactly the marked lines are reported when `detect` is the rule's detector."""
        self.analyzer._analyses._contexts.clear()  # they remember what a detector asked for
        known = analyzer.detector
        analyzer.detector = lambda name: detect  # type: ignore[assignment]
        try:
            found = self.analyzer.check(self.source)
        finally:
            analyzer.detector = known
        places = {(self.example.check, d.span.start.row): d for d in found}
        return not any(self.example.disagreements(places))


def mutants(tree: ast.Module, text: str, words: bool = False) -> Iterator[Mutant]:
    """Yield the mutants of a module, in the order of the text; with `words` also those that lack a word."""
    lines = text.splitlines()
    found = [mutant for node in ast.walk(tree) for mutant in _of(node, words)]
    for mutant in sorted(found, key=lambda m: (m.condition.lineno, m.condition.col_offset)):
        rows = range(mutant.condition.lineno - 1, mutant.condition.end_lineno or mutant.condition.lineno)
        if not any(_EQUIVALENT.search(lines[row]) for row in rows):
            yield mutant


def _of(node: ast.AST, words: bool) -> Iterator[Mutant]:
    if isinstance(node, ast.BoolOp):
        if _is_default(node.values[-1]):
            return
        neutral = isinstance(node.op, ast.And)
        for index, operand in enumerate(node.values):
            if not _NARROWS.match(ast.unparse(operand)):
                yield Mutant("drop", operand, node, "values", index, _constant(neutral, operand))
    elif isinstance(node, ast.If):
        guard = isinstance(node.body[-1], _EXITS) and not any(isinstance(n, ast.Yield) for n in ast.walk(node))
        yield Mutant("never" if guard else "always", node.test, node, "test", None, _constant(not guard, node.test))
    elif isinstance(node, ast.IfExp):
        if not _NARROWS.match(ast.unparse(node.test)):
            for value, kind in ((True, "always"), (False, "never")):
                if value and ast.unparse(node.orelse) in _EMPTY and isinstance(node.test, (ast.Name, ast.Attribute)):
                    continue  # it is there for None
                yield Mutant(kind, node.test, node, "test", None, _constant(value, node.test))
    elif isinstance(node, ast.comprehension):
        for index, test in enumerate(node.ifs):
            if not _NARROWS.match(ast.unparse(test)):
                yield Mutant("drop", test, node, "ifs", index, None)
    elif isinstance(node, ast.Compare) and len(node.ops) == 1 and not _NARROWS.match(ast.unparse(node)):
        yield Mutant("turn", node, node, "ops", 0, _TURNED[type(node.ops[0])]())
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not) and not _NARROWS.match(ast.unparse(node)):
        twice = ast.copy_location(ast.UnaryOp(ast.Not(), node.operand), node)
        yield Mutant("turn", node, node, "operand", None, twice)
    elif words and isinstance(node, (ast.Set, ast.Tuple, ast.List)) and len(node.elts) > 1:
        for index, item in enumerate(node.elts):
            if isinstance(item, ast.Constant) and isinstance(item.value, str):
                yield Mutant("leave out", item, node, "elts", index, None)
    elif words and isinstance(node, ast.Call) and _is_split(node):
        assert isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Constant)
        every = str(node.func.value.value).split()
        for word in every:
            named = ast.copy_location(ast.Constant(word), node)
            rest = ast.copy_location(ast.Constant(" ".join(other for other in every if other != word)), node)
            yield Mutant("leave out", named, node.func, "value", None, rest)


def _is_default(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) or ast.unparse(node) in _EMPTY


def _is_split(node: ast.Call) -> bool:
    func = node.func
    return isinstance(func, ast.Attribute) and func.attr == "split" and isinstance(func.value, ast.Constant)


def _constant(value: bool, at: ast.expr) -> ast.expr:
    return ast.copy_location(ast.Constant(value), at)


def modules_of(detector: str) -> list[str]:
    """Return the names of the detector's module and of those beside it that it imports."""
    name = f"{DETECTORS}.{detector.replace('-', '_')}"
    found = importlib.import_module(name)
    beside = {getattr(value, "__module__", None) for value in vars(found).values()}
    return [*sorted(other for other in beside - {name} if isinstance(other, str) and _is_beside(other)), name]


def _is_beside(name: str) -> bool:
    return name.startswith(f"{DETECTORS}.")


def detect_with(names: Sequence[str], trees: Mapping[str, ast.Module]) -> Detector:
    """Run the modules `names` anew from `trees`, in this order, and return `detect` of the last one."""
    known = {name: sys.modules[name] for name in names}
    try:
        for name in names:
            fresh = types.ModuleType(name)
            fresh.__file__ = known[name].__file__
            sys.modules[name] = fresh
            exec(compile(trees[name], str(fresh.__file__), "exec"), vars(fresh))
        found: Detector = sys.modules[names[-1]].detect
        return found
    finally:
        sys.modules.update(known)


def cases_of(rules: Sequence[Rule], folder: Path) -> Iterator[Case]:
    """Write the examples of `rules` below `folder` and yield them."""
    frameworks = load_frameworks()
    for rule in rules:
        for number, example in enumerate(rule.cases):
            root = folder / f"{rule.code}-{number}"
            for name, text in example.files.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text, encoding="utf-8")
            plain = ActiveRule.default(rule)
            active = dataclasses.replace(plain, options=MappingProxyType({**plain.options, **example.options}))
            yield Case(
                rule, example, read_source(root / example.check), Analyzer({rule.code: active}, frameworks, root)
            )


def survivors(rules: Sequence[Rule], helpers: Sequence[str] = (), words: bool = False) -> tuple[list[str], int]:
    """Return 'file:line: condition (changes)' of the conditions no example of `rules` needs, and how many there are.

    `rules` share one detector; `helpers` are further modules to mutate. Raises `SystemExit` where an example fails
    as it is.
    """
    names = [*helpers, *modules_of(rules[0].detector)]
    paths = {name: Path(str(importlib.import_module(name).__file__)) for name in names}
    texts = {name: path.read_text(encoding="utf-8") for name, path in paths.items()}
    trees = {name: ast.parse(text) for name, text in texts.items()}
    alive: dict[tuple[str, int, str], list[str]] = {}
    every = set()
    with tempfile.TemporaryDirectory() as folder:
        cases = list(cases_of(rules, Path(folder)))
        failing = [f"{c.rule.code} {c.example.title}" for c in cases if not c.passes(detect_with(names, trees))]
        if failing:
            raise SystemExit(f"without any change these examples fail: {', '.join(failing)}")
        for name in names:
            for mutant in mutants(trees[name], texts[name], words):
                written = " ".join(ast.unparse(mutant.condition).split())
                condition = (_shown(paths[name]), mutant.condition.lineno, written)
                every.add(condition)
                with mutant.applied():
                    if _survives(cases, lambda: detect_with(names, trees)):
                        alive.setdefault(condition, []).append(mutant.kind)
    return [f"{path}:{row}: {written} ({', '.join(kinds)})" for (path, row, written), kinds in alive.items()], len(
        every
    )


def _survives(cases: Sequence[Case], build: Callable[[], Detector]) -> bool:
    signal.signal(signal.SIGALRM, _too_long)
    signal.alarm(SECONDS)
    try:
        detect = build()
        return all(case.passes(detect) for case in cases)
    except Exception:  # a crash is as good as a wrong finding
        return False
    finally:
        signal.alarm(0)


def _too_long(*_: Any) -> None:
    raise TimeoutError


def _shown(path: Path) -> str:
    return path.relative_to(Path(__file__).resolve().parent.parent).as_posix()


def groups(codes: Sequence[str]) -> list[list[Rule]]:
    """Return the rules on Python source that share a detector with one of `codes`, or all; patterns have a test."""
    every = [r for r in load_rules().values() if r.runs_on == "python" and r.detector != "pattern"]
    unknown = sorted(set(codes) - {rule.code for rule in every})
    if unknown:
        raise SystemExit(f"no rule on Python source with a detector of its own: {', '.join(unknown)}")
    wanted = dict.fromkeys(rule.detector for rule in every if not codes or rule.code in codes)
    return [[rule for rule in every if rule.detector == detector] for detector in wanted]


def main() -> None:
    """Print the survivors of each detector."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rules", nargs="*", metavar="RULE", help="codes; without any, every rule with a detector")
    parser.add_argument("--words", action="store_true", help="also leave out each word of each set of words")
    parser.add_argument("--module", action="append", default=[], help="mutate this module, too")
    options = parser.parse_args()
    some = False
    for rules in groups(options.rules):
        alive, total = survivors(rules, options.module, options.words)
        some |= bool(alive)
        for line in alive:
            print(line)
        print(f"{', '.join(r.code for r in rules)} {rules[0].detector}: {len(alive)} of {total} survive", flush=True)
    sys.exit(some)


if __name__ == "__main__":
    main()
