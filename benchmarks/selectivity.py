"""How many files of a corpus each rule opens: its trigger words behind the names of the known libraries.

    python benchmarks/selectivity.py TREE [TREE ...]

Exits with 1 where a rule opens more than 35 % of the files and is not among `EXEMPT`.
"""

from __future__ import annotations

import argparse
import sys
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


def main() -> None:
    """Print the share of each rule, the largest first."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trees", nargs="+", type=Path)
    texts = [p.read_bytes() for p in discover(parser.parse_args().trees) if p.suffix == ".py"]
    roots = [root for framework in load_frameworks() for root in framework.roots]
    rules = [r for r in load_rules().values() if r.runs_on == "python"]
    shares = {r.code: sum(map(Prefilter(roots, [r.triggers]).wants, texts)) / max(len(texts), 1) for r in rules}
    for code, share in sorted(shares.items(), key=lambda item: -item[1]):
        print(f"{code}  {share:6.1%}{'  exempt' if code in EXEMPT else ''}")
    whole = Prefilter(roots, [r.triggers for r in rules if r.enabled])
    print(f"all    {sum(map(whole.wants, texts)) / max(len(texts), 1):6.1%} of {len(texts)} files")
    sys.exit(any(share > MOST and code not in EXEMPT for code, share in shares.items()))


if __name__ == "__main__":
    main()
