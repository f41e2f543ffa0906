"""How often a finding is true: draw findings from public repositories, read them by hand, count.

    python benchmarks/precision.py draw TITLE NAME=CHECKOUT ...    a sample, into precision.yaml; verdicts given stay
    python benchmarks/precision.py table                           docs/precision-draws.md

A verdict is written by a person into precision.yaml: `true`, or `false` with the reason why. Findings are the errors
and warnings of ML1xx and ML2xx that a plain `modellint check` of the checkout's root shows; six draws, from
"twenty-four more" to "ten libraries more", "thirty-six", "thirty-nine" and "eighty-one", hold ML3xx and ML4xx, too,
without ML403: of the last three one finding of each rule and file, at most seven of a repository, three of a rule in
the last. Each draw has a name, and holds what was found in its repositories by the version that it was made with.

A place in a notebook is told by its code cell, code cells alone counted, as findings did when the first draws were
made: so verdicts find their findings again. Findings count cells of every kind.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import yaml

from modellint.sources import read_source

HERE = Path(__file__).parent
SAMPLE = HERE / "precision.yaml"
PAGE = HERE.parent / "docs" / "precision-draws.md"
SEED = 20261121
DRAWN = 100
FAMILIES = ("ML1", "ML2")
MARKS = ("<!-- begin: benchmarks/precision.py table -->", "<!-- end -->")

Row = dict[str, Any]


def findings(name: str, checkout: Path) -> list[Row]:
    """Return the errors and warnings of the families read in a checkout, in the order of the report."""
    command = [sys.executable, "-m", "modellint", "check", "--no-cache", "--isolated", "--select", ",".join(FAMILIES)]
    finished = subprocess.run(
        [*command, "--output-format", "json", "."], cwd=checkout, capture_output=True, text=True, check=False
    )
    if not finished.stdout:
        sys.exit(f"{checkout}: {finished.stderr.strip() or 'no output'}")
    rows = []
    for item in json.loads(finished.stdout):
        if item["severity"] == "info" or not item["code"].startswith(FAMILIES):
            continue
        file = Path(item["filename"]).relative_to(checkout.resolve()).as_posix()
        place = f"cell {code_cell(Path(item['filename']), item['cell'])}, row" if item["cell"] else "row"
        at = f"{place} {item['location']['row']}"
        rows.append({"repository": name, "file": file, "at": at, "code": item["code"]})
    return rows


def code_cell(notebook: Path, cell: int) -> int:
    """Return which of the code cells of a notebook the cell of a finding is."""
    return read_source(notebook).numbers.index(cell) + 1


def commit_of(checkout: Path) -> str:
    """Return the commit a checkout stands at, or of which it is an export (a file COMMIT in its root)."""
    note = checkout / "COMMIT"
    if note.is_file():
        return note.read_text(encoding="utf-8").strip()
    command = ["git", "-C", str(checkout), "rev-parse", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def key(row: Row) -> tuple[str, ...]:
    """Tell one finding from another across runs."""
    return (row["repository"], row["file"], row["at"], row["code"])


def draw(title: str, checkouts: dict[str, Path]) -> None:
    """Draw the sample called `title` and keep the verdicts that were given before."""
    draws = yaml.safe_load(SAMPLE.read_text("utf-8"))["draws"]
    known = {key(row): row for row in draws.get(title, {"findings": []})["findings"]}
    repositories, pool = [], []
    for name, checkout in sorted(checkouts.items()):
        rows = findings(name, checkout)
        repositories.append({"name": name, "commit": commit_of(checkout), "findings": len(rows)})
        pool += rows
    chosen = pool if len(pool) <= DRAWN else random.Random(SEED).sample(pool, DRAWN)
    sample = [known.get(key(row), row | {"verdict": None}) for row in sorted(chosen, key=key)]
    data = {"seed": SEED, "draws": draws | {title: {"repositories": repositories, "findings": sample}}}
    temporary = SAMPLE.with_suffix(".tmp")
    temporary.write_text(yaml.safe_dump(data, sort_keys=False, width=160, allow_unicode=True), "utf-8")
    temporary.replace(SAMPLE)
    print(f"{len(sample)} of {len(pool)} findings drawn, {sum(r['verdict'] is None for r in sample)} to be read")


def tables() -> str:
    """Return the tables of the page: all draws together by rule, then one section a draw."""
    draws = yaml.safe_load(SAMPLE.read_text("utf-8"))["draws"]
    every = [row for data in draws.values() for row in data["findings"]]
    sections = [f"## All draws together\n\n{_by_rule(every)}"]
    return "\n\n".join(sections + [f"## {title}\n\n{_table(data)}" for title, data in draws.items()])


def _by_rule(rows: list[Row]) -> str:
    read, right = Counter(row["code"] for row in rows), Counter(row["code"] for row in rows if row["verdict"] is True)
    lines = ["| rule | read | true |", "|---|--:|--:|"]
    return "\n".join([*lines, *(f"| {code} | {read[code]} | {right[code]} |" for code in sorted(read))])


def _table(data: dict[str, Any]) -> str:
    """Return the tables of one draw, from its sample and the verdicts."""
    rows = data["findings"]
    if unread := [key(row) for row in rows if row["verdict"] is None]:
        sys.exit(f"{SAMPLE}: {len(unread)} findings have no verdict yet, the first: {' '.join(unread[0])}")
    lines = ["| repository | commit | findings | read | true | false |", "|---|---|--:|--:|--:|--:|"]
    for item in data["repositories"]:
        own = [row for row in rows if row["repository"] == item["name"]]
        good = sum(row["verdict"] is True for row in own)
        lines.append(
            f"| {item['name']} | {item['commit'][:10]} | {item['findings']} | {len(own)} | {good} | {len(own) - good} |"
        )
    good = sum(row["verdict"] is True for row in rows)
    total = sum(item["findings"] for item in data["repositories"])
    lines.append(f"| **all** | | **{total}** | **{len(rows)}** | **{good}** | **{len(rows) - good}** |")
    lines += ["", _by_rule(rows)]
    if wrong := [row for row in rows if row["verdict"] is not True]:
        lines += ["", "The false ones, and why:", ""]
        lines += [f"- {r['code']} {r['repository']}/{r['file']}, {r['at']}: {r['why']}" for r in wrong]
    return "\n".join(lines)


def main() -> None:
    """Run one of the two commands."""
    match sys.argv[1:]:
        case ["draw", title, *pairs] if pairs and all("=" in pair for pair in pairs):
            draw(title, {name: Path(path) for name, _, path in (pair.partition("=") for pair in pairs)})
        case ["table"]:
            before, _, rest = PAGE.read_text("utf-8").partition(MARKS[0])
            _, _, after = rest.partition(MARKS[1])
            PAGE.write_text(f"{before}{MARKS[0]}\n{tables()}\n{MARKS[1]}{after}", "utf-8")
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
