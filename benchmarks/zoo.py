"""Trace whole model zoos and write what came of it: `python benchmarks/zoo.py timm --out timm.jsonl --minutes 30`.

Each architecture of timm is built on the meta device without weights (`pretrained=False`), put into evaluation mode and
traced. A line of JSON is appended for each, so that a run which was stopped goes on where it was. `--report FILE`
writes the table in docs/zoo.md from such a file instead of running anything.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from modellint.catalog import ActiveRule, load_rules
from modellint.diagnostic import Confidence, Severity
from modellint.runtime import Pool, Request, TargetReport, trace_targets

_FACTORY = """
import timm
import torch


def build():
    with torch.device("meta"):
        return timm.create_model({name!r}, pretrained=False).eval()
"""


def main() -> None:
    """Run, or write the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("zoo", choices=["timm"])
    parser.add_argument("--out", type=Path, required=True, help="the file of results, appended to")
    parser.add_argument("--minutes", type=float, default=600.0, help="stop after this time")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only each Nth architecture")
    parser.add_argument("--report", type=Path, metavar="FILE", help="write the report and run nothing")
    options = parser.parse_args()
    # torchvision's wheel does not import beside a CPU build of torch without what this file declares.
    helpers = str(Path(__file__).resolve().parents[1] / "tests" / "runtime")
    sys.path.insert(0, helpers)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (helpers, os.environ.get("PYTHONPATH"))))
    importlib.import_module("zoo_libraries")
    import timm

    if options.report:
        options.report.write_text(report(list(_read(options.out)), len(timm.list_models())), encoding="utf-8")
        return
    done = {entry["name"] for entry in _read(options.out)}
    names = [name for name in timm.list_models()[:: options.every] if name not in done]
    until = time.monotonic() + 60 * options.minutes
    rules = {code: ActiveRule.default(rule) for code, rule in load_rules().items() if rule.enabled}
    with Pool(preload=("zoo_libraries",)) as pool, options.out.open("a", encoding="utf-8") as stream:
        for name in names:
            if time.monotonic() > until:
                break
            print(json.dumps(_traced(name, rules, pool)), file=stream, flush=True)


def _read(file: Path) -> Iterator[dict[str, Any]]:
    if file.exists():
        yield from map(json.loads, file.read_text(encoding="utf-8").splitlines())


def _traced(name: str, rules: dict[str, ActiveRule], pool: Pool) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "zoo_model.py").write_text(_FACTORY.format(name=name), encoding="utf-8")
        request = Request("zoo_model.py:build", root=Path(folder), timeout=120)
        (found,) = trace_targets([request], rules, pool=pool)
    return {"name": name, **_summary(found)}


def _summary(found: TargetReport) -> dict[str, Any]:
    trace = found.trace
    recorded = [op for op in trace.ops if op.level == "record"] if trace else []
    return {
        "problem": found.problem,
        "level": trace.level() if trace else None,
        "modules": len(trace.modules) if trace else 0,
        "ops": len(recorded),
        "ops_with_line": sum(op.site is not None for op in recorded),
        "findings": [
            f"{diagnostic.code} {Path(diagnostic.filename).name}:{diagnostic.span.start.row}"
            for diagnostic in found.diagnostics
            if diagnostic.severity is not Severity.INFO and diagnostic.confidence is not Confidence.POSSIBLE
        ],
    }


def report(entries: list[dict[str, Any]], listed: int) -> str:
    """Return docs/zoo.md for the results, of a zoo that lists so many architectures."""
    recorded = [entry for entry in entries if entry["level"] == "record" and not entry["problem"]]
    ops, lines = (sum(entry[key] for entry in entries) for key in ("ops", "ops_with_line"))
    alarms = [entry for entry in entries if entry["findings"]]
    rows = [
        ("architectures traced, of those that timm lists", f"{len(entries):,} of {listed:,}"),
        ("forward recorded", f"{len(recorded):,}"),
        ("operations", f"{ops:,}"),
        ("operations with file and line", f"{lines:,}"),
        ("models with a finding (there should be none: all are in evaluation mode)", f"{len(alarms):,}"),
    ]
    failures = [
        f"- `{entry['name']}`: {entry['problem'] or ', '.join(entry['findings']) or entry['level']}"
        for entry in entries
        if entry not in recorded or entry["findings"]
    ]
    table = "\n".join(f"| {name} | {value} |" for name, value in rows)
    return (
        "# Traced zoos\n\n"
        "Written by `python benchmarks/zoo.py timm --out FILE --report docs/zoo.md`, nothing of it by hand.\n"
        "Not measured here yet: the peak of memory, types of transformers, planted defects.\n\n"
        f"## timm, on the meta device\n\n| | |\n|---|---|\n{table}\n\n### Failures\n\n"
        + ("\n".join(failures) or "None.")
        + "\n"
    )


if __name__ == "__main__":
    main()
