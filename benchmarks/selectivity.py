"""How many files of a corpus each rule opens: its trigger words behind the names of the known libraries.

    python benchmarks/selectivity.py TREE [TREE ...]

Exits with 1 where a rule opens more than 35 % of the files and is not among `EXEMPT`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from modellint.catalog import load_frameworks, load_rules
from modellint.sources import Prefilter, discover

MOST = 0.35
EXEMPT = {
    "ML101": "any call may be a forward, and what makes it inference has many names",
    "ML105": "any class with a forward",
    "ML108": "any class with a forward that may draw",
    "ML201": "any call may be a forward",
    "ML303": "comparisons have no word of their own",
    "ML304": "any tensor constructor",
    "ML401": "any call may be a forward",
    "ML405": "any call that takes a flag",
}
"""Why a rule may open more: there is no rarer word that all it finds has in common."""


def shares(texts: Sequence[bytes]) -> dict[str, float]:
    """Return the part of these files that each rule opens, by its code, and that all rules open together, as `all`."""
    roots = [root for framework in load_frameworks() for root in framework.roots]
    rules = [r for r in load_rules().values() if r.runs_on == "python"]
    groups = {rule.code: [rule.triggers] for rule in rules}
    groups["all"] = [rule.triggers for rule in rules if rule.enabled]
    return {code: sum(map(Prefilter(roots, group).wants, texts)) / max(len(texts), 1) for code, group in groups.items()}


def refused(found: Mapping[str, float]) -> dict[str, float]:
    """Return the rules that open too many files without a reason."""
    return {code: share for code, share in found.items() if share > MOST and code not in (*EXEMPT, "all")}


def main() -> None:
    """Print the share of each rule, the largest first."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trees", nargs="+", type=Path)
    texts = [p.read_bytes() for p in discover(parser.parse_args().trees) if p.suffix == ".py"]
    found = shares(texts)
    for code, share in sorted(found.items(), key=lambda item: -item[1]):
        print(f"{code}  {share:6.1%}{'  exempt' if code in EXEMPT else ''}")
    print(f"{len(texts)} files")
    sys.exit(bool(refused(found)))


if __name__ == "__main__":
    main()
