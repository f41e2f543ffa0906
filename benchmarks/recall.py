"""How many defects are found: places in public repositories that readers labelled, and files that are correct.

    python benchmarks/recall.py score MIRROR [TITLE] [--half a|b] [--misses] [--command ...]
    python benchmarks/recall.py add TITLE DEFECTS.jsonl CORRECT.jsonl ...

recall.yaml names places only: repository, commit, file, rows. MIRROR holds one bare clone a repository, as
`owner+name/repo`; one that is not there is skipped, and said so. Each tree is laid out whole, and the one file is
checked as a user would. A defect counts as found where its rule reports within three rows of the labelled ones, be it
as a related place of the same finding; its fix counts as quiet where no finding of that rule stands there. An alarm is
an error or a warning in a correct file, of the rules about modes and gradients (ML1xx, ML2xx).

The `cell` of a label counts the code cells of a notebook alone, from 1, as findings did when most labels were written.
Findings count cells of every kind: labels are translated by the notebook in the tree.

Whatever is read here is seen afterwards. So `--half` parts the repositories in two, by a hash of their names: rules
are corrected with the one half in view, and the other tells what that is worth.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shlex
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from modellint.sources import SourceError, read_source

LABELS = Path(__file__).with_name("recall.yaml")
TREES = Path(tempfile.gettempdir()) / "modellint-recall"
SLACK = 3
LIMIT = 180  # seconds a file
READ = (b".py", b".ipynb", b".toml", b".cfg", b".yaml", b".yml")
FAMILIES = ("ML1", "ML2")

Row = dict[str, Any]


class Place(NamedTuple):
    """Where a rule reports: the cell of a notebook, of all its cells, or None, and a row."""

    code: str
    cell: int | None
    row: int


class Outcome(NamedTuple):
    """What became of one label: `found`, `missed`, `alarm` (of a correct file), `skipped` or `failed`.

    `quiet` tells whether nothing is reported after the fix, None where there is no fix to check.
    """

    label: Row
    verdict: str
    quiet: bool | None = None
    note: str = ""


def lay_out(mirror: Path, repository: str, commit: str) -> Path | None:
    """Return a folder with the tree of `commit`, laid out once; None where there is no such clone or commit."""
    clone = mirror / repository.replace("/", "+") / "repo"
    tree = TREES / f"{repository.replace('/', '+')}@{commit[:12]}"
    if (tree / ".git").exists():
        return tree
    if not clone.exists():
        return None
    git = ["git", "-C", str(clone)]
    listing = subprocess.run([*git, "ls-tree", "-r", "-z", commit], capture_output=True, check=False)
    if listing.returncode:
        return None
    names: dict[bytes, list[bytes]] = {}
    for entry in listing.stdout.split(b"\0"):
        meta, _, name = entry.partition(b"\t")
        if meta.startswith(b"100") and name.endswith(READ):
            names.setdefault(meta.split()[2], []).append(name)
    asked = b"\n".join(names) + b"\n"
    blobs = subprocess.run([*git, "cat-file", "--batch"], input=asked, capture_output=True, check=True).stdout
    at = 0
    while at < len(blobs):
        end = blobs.index(b"\n", at)
        blob, kind, *size = blobs[at:end].split()
        at = end + 1
        if kind == b"missing":  # a snapshot may lack its largest files
            continue
        for name in names[blob]:
            path = tree / name.decode(errors="surrogateescape")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(blobs[at : at + int(size[0])])
        at += int(size[0]) + 1
    tree.mkdir(parents=True, exist_ok=True)
    (tree / ".git").mkdir()  # as a clone has: what lies around it is no part of the project
    return tree


def check(command: Sequence[str], tree: Path, file: str) -> list[Row]:
    """Return the findings in a file. Raises `RuntimeError`."""
    words = [*command, "check", "--isolated", "--no-cache", "--output-format", "json", file]
    try:
        done = subprocess.run(words, cwd=tree, capture_output=True, text=True, timeout=LIMIT, check=False)
    except subprocess.TimeoutExpired as error:
        raise RuntimeError(f"no answer in {LIMIT} s") from error
    if done.returncode not in (0, 1):
        raise RuntimeError(done.stderr.strip()[-300:])
    findings: list[Row] = json.loads(done.stdout)
    return findings


def own_places(findings: Iterable[Row]) -> Iterator[Place]:
    """Yield the rows that findings stand in."""
    for item in findings:
        for row in range(item["location"]["row"], item["end_location"]["row"] + 1):
            yield Place(item["code"], item["cell"], row)


def related_places(findings: Iterable[Row]) -> Iterator[Place]:
    """Yield the places of the same file that are related to findings."""
    for item in findings:
        related = (other for other in item["related"] if other["filename"] == item["filename"])
        yield from (Place(item["code"], other.get("cell"), other["location"]["row"]) for other in related)


def cell_of(notebook: Path, label: Row) -> int | None:
    """Return the cell of a label as findings count it; None where there is no such cell, or it is no notebook."""
    if not label.get("cell"):
        return None
    try:
        numbers = read_source(notebook).numbers
    except (SourceError, OSError):
        return None
    return numbers[label["cell"] - 1] if label["cell"] <= len(numbers) else None


def is_told(places: Iterable[Place], code: str, cell: int | None, rows: Sequence[int]) -> bool:
    """Tell whether a rule reports at the rows of a label, or within three of them."""
    first, last = rows[0] - SLACK, rows[-1] + SLACK
    return any(p.code == code and p.cell == cell and first <= p.row <= last for p in places)


def judge(command: Sequence[str], mirror: Path, label: Row) -> Outcome:
    """Check the file of a defect, and the same file after its fix."""
    quiet = None
    try:
        tree = lay_out(mirror, label["repository"], label["commit"])
        if tree is None:
            return Outcome(label, "skipped")
        findings = check(command, tree, label["file"])
        places = (*own_places(findings), *related_places(findings))
        told = is_told(places, label["rule"], cell_of(tree / label["file"], label), label["rows"])
        fix = label.get("fix")
        after = lay_out(mirror, label["repository"], fix["commit"]) if fix else None
        if after is not None:
            file = fix.get("file", label["file"])
            left = own_places(check(command, after, file))
            quiet = not is_told(left, label["rule"], cell_of(after / file, label), fix["rows"])
    except RuntimeError as error:
        return Outcome(label, "failed", note=str(error))
    return Outcome(label, "found" if told else "missed", quiet)


def judge_correct(command: Sequence[str], mirror: Path, label: Row) -> Outcome:
    """Check a file that is correct: it is `found` where modellint says so, too."""
    try:
        tree = lay_out(mirror, label["repository"], label["commit"])
        if tree is None:
            return Outcome(label, "skipped")
        findings = check(command, tree, label["file"])
    except RuntimeError as error:
        return Outcome(label, "failed", note=str(error))
    alarms = [f for f in findings if f["severity"] != "info" and f["code"].startswith(FAMILIES)]
    note = "; ".join(f"{f['code']} row {f['location']['row']}: {f['message']}" for f in alarms)
    return Outcome(label, "alarm" if alarms else "found", note=note)


def half_of(repository: str) -> str:
    """Return the half that a repository is in: `a` or `b`."""
    return "ab"[hashlib.sha256(repository.encode()).digest()[0] % 2]


def score(command: Sequence[str], mirror: Path, title: str | None, half: str | None, misses: bool) -> None:
    """Print what is found, rule by rule, what is quiet after the fix, and the alarms in correct files."""
    sets = yaml.safe_load(LABELS.read_text("utf-8"))
    if title is not None and title not in sets:
        sys.exit(f"{LABELS}: no set called {title!r}; there are: {', '.join(sets)}")
    chosen = [sets[title]] if title is not None else list(sets.values())
    defects, correct = (
        [row for labels in chosen for row in labels[kind] if half in (None, half_of(row["repository"]))]
        for kind in ("defects", "correct")
    )
    for row in (*defects, *correct):  # one after the other: two workers must not lay out the same tree
        for commit in filter(None, (row["commit"], (row.get("fix") or {}).get("commit"))):
            lay_out(mirror, row["repository"], commit)
    with ThreadPoolExecutor(2) as pool:
        judged = list(pool.map(partial(judge, command, mirror), defects))
        clean = list(pool.map(partial(judge_correct, command, mirror), correct))
    if misses:
        _print_misses(judged, clean)
    for code in (*sorted({outcome.label["rule"] for outcome in judged}), None):
        own = [o for o in judged if code in (None, o.label["rule"]) and o.verdict != "skipped"]
        found, fixed = sum(o.verdict == "found" for o in own), [o.quiet for o in own if o.quiet is not None]
        share = f" = {found / len(own):.3f}" if own else ""
        print(f"{code or 'all':6} found {found}/{len(own)}{share}, quiet after the fix {sum(fixed)}/{len(fixed)}")
    counts = Counter(outcome.verdict for outcome in clean)
    print(f"correct files with an alarm: {counts['alarm']}/{counts['alarm'] + counts['found']}")
    failed = sum(outcome.verdict == "failed" for outcome in (*judged, *clean))
    skipped = sum(outcome.verdict == "skipped" for outcome in (*judged, *clean))
    print(f"checks that failed: {failed}; labels without a clone: {skipped}")


def _print_misses(judged: Iterable[Outcome], clean: Iterable[Outcome]) -> None:
    for label, verdict, quiet, note in (*judged, *clean):
        if verdict == "found" and quiet is not False:
            continue
        words = f"{verdict}{', not quiet after the fix' if quiet is False else ''}"
        cell = f" code cell {label['cell']}" if label.get("cell") else ""
        rows = "-".join(map(str, label.get("rows", ())))
        place = f"{label['repository']}@{label['commit'][:12]} {label['file']}{cell}:{rows}"
        print(f"{words}: {label.get('rule', '')} {place} {label['why']} {note}".rstrip())


def add(title: str, files: Iterable[Path]) -> None:
    """Put labels into recall.yaml, as readers wrote them: one object a line, defects with a `rule`."""
    from modellint.catalog import load_rules

    codes = {rule.name: code for code, rule in load_rules().items()}
    sets = yaml.safe_load(LABELS.read_text("utf-8")) if LABELS.exists() else {}
    labels = sets.setdefault(title, {"defects": [], "correct": []})
    for path in files:
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
            try:
                given = json.loads(line)
                row = {"repository": given["repo"], "file": given["path"]}
                if "rule" not in given:
                    kind = "correct"
                    row |= {"commit": given["commit"], "why": given["why"]}
                else:
                    kind = "defects"
                    row = {"rule": codes.get(given["rule"], given["rule"])} | row | {"commit": given["before"]}
                    row |= {"rows": given.get("span") or [given["line"]], "why": given["note"]}
                    if given.get("cell"):
                        row["cell"] = given["cell"]
                    if given.get("after"):
                        row["fix"] = {"commit": given["after"], "rows": given.get("after_span") or row["rows"]}
                        row["fix"] |= {"file": given["after_path"]} if given.get("after_path") else {}
                    if given.get("sure") == "arguable":
                        row["arguable"] = True
            except (ValueError, KeyError) as error:
                sys.exit(f"{path}:{number}: no label: {error!r}")
            labels[kind].append(row)
    temporary = LABELS.with_suffix(".tmp")
    temporary.write_text(yaml.safe_dump(sets, sort_keys=False, width=160, allow_unicode=True), "utf-8")
    temporary.replace(LABELS)


def main() -> None:
    """Run one of the two commands."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    scoring = commands.add_parser("score")
    scoring.add_argument("mirror", type=Path)
    scoring.add_argument("title", nargs="?")
    scoring.add_argument("--half", choices=["a", "b"])
    scoring.add_argument("--misses", action="store_true", help="name what is missed, noisy or an alarm")
    own = str(Path(sys.executable).with_name("modellint"))
    scoring.add_argument("--command", dest="words", default=own, help="the modellint that is measured")
    adding = commands.add_parser("add")
    adding.add_argument("title")
    adding.add_argument("files", type=Path, nargs="+")
    options = parser.parse_args()
    if options.command == "score":
        score(shlex.split(options.words), options.mirror, options.title, options.half, options.misses)
    else:
        add(options.title, options.files)


if __name__ == "__main__":
    main()
