"""What a removed switch is worth: correct files of public repositories, once with eval() or no_grad, once without.

    python benchmarks/removal.py MIRROR [--repositories N] [--seed S] [--skip REPOSITORY ...] [--misses]

MIRROR holds one bare clone a repository, as `owner+name/repo`. In each repository drawn one file is chosen that calls
eval(), and one that switches autograd off (the same one where a file does both). All calls of eval() are taken out of
a copy of the tree, and all switches of another; the file is checked before and after. A switch is missed where no
finding of its rule comes up for it.

Not every miss is one: another switch may do the same work, nothing may depend on it, or what was switched may be
frozen, exported or trained. So the misses have to be read; of what is told nothing has.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parent))
import recall

SWITCHES = frozenset({"no_grad", "inference_mode"})
TESTS = re.compile(r"(^|/)(tests?|unit_tests|testing|docs?)(/|_)|(^|/)test_|_test\.py$|conftest")
MOST_FILES = 1500  # of one repository


class Removal(NamedTuple):
    """One file without the switches of a rule, and what became of it: `found`, `had` a finding before, `missed`."""

    repository: str
    file: str
    rule: str
    rows: list[int]
    verdict: str


def without_eval(source: str) -> tuple[str, list[int]]:
    """Return a program without its calls of `eval()`, and the rows in which they stood."""
    lines, cuts = source.split("\n"), []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "eval":
            owner = node.func.value
            if not (node.args or node.keywords) and owner.end_lineno == node.end_lineno:
                cuts.append((node.end_lineno or 0, owner.end_col_offset or 0, node.end_col_offset or 0))
    for row, first, last in sorted(cuts, reverse=True):
        line = lines[row - 1].encode()
        lines[row - 1] = (line[:first] + line[last:]).decode()
    return "\n".join(lines), sorted(row for row, _, _ in cuts)


def without_switches(source: str) -> tuple[str, list[int]]:
    """Return a program whose blocks and functions run under no `no_grad`, and the rows in which that stood."""
    lines, rows = source.split("\n"), []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.With) and len(node.items) == 1 and _switches(node.items[0].context_expr):
            line = lines[node.lineno - 1]
            if node.body[0].lineno > node.lineno and line.split("#")[0].rstrip().endswith(":"):
                lines[node.lineno - 1] = line[: len(line) - len(line.lstrip())] + "if True:"
                rows.append(node.lineno)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            for decorator in filter(_switches, node.decorator_list):
                lines[decorator.lineno - 1] = ""
                rows.append(decorator.lineno)
    return "\n".join(lines), sorted(rows)


def _switches(node: ast.expr) -> bool:
    func = node.func if isinstance(node, ast.Call) and not node.args else node
    return isinstance(func, ast.Attribute) and func.attr in SWITCHES


CUTS: dict[str, Callable[[str], tuple[str, list[int]]]] = {"ML101": without_eval, "ML201": without_switches}
KIN = {"ML101": ("ML101", "ML102", "ML103"), "ML201": ("ML201",)}
"""The rules that may tell of what is gone: where eval() is missing, another one's effect may last."""


def remove(repository: str, mirror: Path) -> list[Removal]:
    """Take the switches of each rule out of one file of a repository, in a copy of its tree, and check it."""
    clone = mirror / repository.replace("/", "+") / "repo"
    head = subprocess.run(["git", "-C", str(clone), "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
    tree = recall.lay_out(mirror, repository, head.stdout.strip())
    files = sorted(tree.rglob("*.py")) if tree is not None else []
    if tree is None or len(files) > MOST_FILES:
        return []
    sources = dict(_read(path, tree) for path in files if not TESTS.search(path.relative_to(tree).as_posix()))
    usable = {rule: [file for file, text in sources.items() if _rows(cut, text)] for rule, cut in CUTS.items()}
    both = [file for file in usable["ML101"] if file in usable["ML201"]]
    found = []
    for rule, cut in CUTS.items():
        pool = both or usable[rule]
        if pool:
            file = random.Random(repository).choice(pool)
            changed, rows = cut(sources[file])
            before = _told(tree, file, rule)
            after = _told_without(tree, file, changed, rule)
            verdict = "failed" if before is None or after is None else "found" if after > before else "missed"
            found.append(Removal(repository, file, rule, rows, "had" if verdict == "missed" and before else verdict))
    return found


def _read(path: Path, tree: Path) -> tuple[str, str]:
    return path.relative_to(tree).as_posix(), path.read_text("utf-8", "replace")


def _rows(cut: Callable[[str], tuple[str, list[int]]], source: str) -> list[int]:
    try:
        return cut(source)[1] if "torch" in source else []
    except (SyntaxError, ValueError, RecursionError):
        return []


def _told(tree: Path, file: str, rule: str) -> int | None:
    """Return how many findings a file has of a rule and its kin, None where the check fails."""
    try:
        findings = recall.check([sys.executable, "-m", "modellint"], tree, file)
    except RuntimeError:
        return None
    return sum(finding["code"] in KIN[rule] for finding in findings)


def _told_without(tree: Path, file: str, changed: str, rule: str) -> int | None:
    with tempfile.TemporaryDirectory(dir=tree.parent) as folder:
        copy = Path(folder) / tree.name
        subprocess.run(["cp", "-al", str(tree), str(copy)], check=True)
        target = copy / file
        target.unlink()  # the copy shares its files with the tree
        target.write_text(changed, "utf-8")
        return _told(copy, file, rule)


def drawn(mirror: Path, number: int, seed: int, skipped: frozenset[str]) -> Iterator[str]:
    """Yield the names of repositories of a mirror, drawn at random."""
    names = sorted(path.name.replace("+", "/", 1) for path in mirror.iterdir() if (path / "repo").exists())
    names = [name for name in names if name not in skipped]
    random.Random(seed).shuffle(names)
    yield from names[:number]


def main(argv: list[str] | None = None) -> None:
    """Run the command line described above."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mirror", type=Path)
    parser.add_argument("--repositories", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--skip", nargs="*", default=[])
    parser.add_argument("--misses", action="store_true")
    given = parser.parse_args(argv)
    names = drawn(given.mirror, given.repositories, given.seed, frozenset(given.skip))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        removals = [one for found in pool.map(partial(remove, mirror=given.mirror), names) for one in found]
    for (rule, verdict), number in sorted(Counter((one.rule, one.verdict) for one in removals).items()):
        print(f"{rule} {verdict}: {number}")
    for one in removals if given.misses else ():
        if one.verdict == "missed":
            print(f"{one.rule} {one.repository} {one.file}: rows {', '.join(map(str, one.rows))}")


if __name__ == "__main__":
    main()
