"""Probe a model of every family of a zoo: `python benchmarks/probe_zoo.py timm --out timm.jsonl --minutes 30`.

timm: the smallest architecture of each module that defines some, on images of 128 pixels where it takes these.
transformers: types in a random order that is always the same, each made small, until `--types` of them ran. All have
random weights and are in evaluation mode: every finding is an alarm to be judged. A line of JSON is appended for each
model, so that a run which was stopped goes on where it was. `--report FILE` writes a table and runs nothing.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import random
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from modellint.catalog import ActiveRule, load_rules
from modellint.diagnostic import Confidence, Severity
from modellint.runtime import Pool, Request, TargetReport, trace_targets
from modellint.runtime.probes.names import parse_probes
from modellint.runtime.probes.result import FAILED, PASSED, SKIPPED, VACUOUS, ProbeResult

_SIDE = 128
_LARGEST = 60_000_000
_SEED = 20260105
_TIMM = """
import timm


def build():
    return timm.create_model({name!r}, pretrained=False).eval()
"""
_TRANSFORMERS = """
import torch
from zoo_transformers import small


def build():
    with torch.device("meta"):
        size = sum(parameter.numel() for parameter in small({name!r}).parameters())
    if size > {largest}:
        raise ValueError(f"no small configuration: {{size:,}} parameters")
    return small({name!r}).eval()
"""
_JUDGED = {
    "nystromformer": "true: the convolution over the values looks under the mask",
    "yoso": "true: the hashed attention counts what stands under the mask",
    "fastspeech2_conformer": (
        "true, both: convolutions look under the mask (ML707); in evaluation mode the decoder gets no mask for the "
        "frames of shorter samples, and the sum of all durations decides whether a sample without any gets one (ML607)"
    ),
    "vit_mae": "true: the pretraining model masks random patches in evaluation mode too",
}
"""What the findings were found to be, read in the source of each model."""


@dataclass(frozen=True, slots=True)
class Case:
    """One model: `inputs` are input specs to try one after the other, none for those of its own configuration."""

    family: str
    name: str
    text: str
    probes: str
    inputs: tuple[tuple[str, ...], ...]


def main() -> None:
    """Run, or write the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("zoo", choices=["timm", "transformers"])
    parser.add_argument("--out", type=Path, required=True, help="the file of results, appended to")
    parser.add_argument("--minutes", type=float, default=600.0, help="stop after this time")
    parser.add_argument("--types", type=int, default=100, help="how many types of transformers are to run")
    parser.add_argument("--again", action="append", metavar="FAMILY", help="run this one anew, and no other")
    parser.add_argument("--report", type=Path, metavar="FILE", help="write the report on the results, and run nothing")
    options = parser.parse_args()
    entries = {entry["family"]: entry for entry in _read(options.out)}
    if options.report:
        options.report.write_text(report(options.zoo, list(entries.values())), encoding="utf-8")
        return
    # torchvision's wheel does not import beside a CPU build of torch without what this folder declares.
    helpers = str(Path(__file__).resolve().parents[1] / "tests" / "runtime")
    sys.path.insert(0, helpers)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (helpers, os.environ.get("PYTHONPATH"))))
    importlib.import_module("zoo_libraries")
    until = time.monotonic() + 60 * options.minutes
    rules = {code: ActiveRule.default(rule) for code, rule in load_rules().items() if rule.enabled}
    with Pool(preload=("zoo_libraries",)) as pool, options.out.open("a", encoding="utf-8") as stream:
        for case in {"timm": _timm, "transformers": _transformers}[options.zoo](options.again):
            ran = sum(entry["problem"] is None for entry in entries.values())
            if time.monotonic() > until or (options.zoo == "transformers" and ran >= options.types):
                break
            if options.again or case.family not in entries:
                entries[case.family] = _probed(case, rules, pool)
                print(json.dumps(entries[case.family]), file=stream, flush=True)


def _read(file: Path) -> Iterator[dict[str, Any]]:
    if file.exists():
        yield from map(json.loads, file.read_text(encoding="utf-8").splitlines())


def _timm(families: list[str] | None) -> Iterator[Case]:
    import timm
    import torch

    def size(name: str) -> int:
        with torch.device("meta"):
            return sum(parameter.numel() for parameter in timm.create_model(name, pretrained=False).parameters())

    for module in sorted(timm.list_modules()):
        names = timm.list_models(module=module)
        if not names or (families and module not in families):
            continue
        name = min(names, key=size)
        small = ((f"float32[2,3,{_SIDE},{_SIDE}]",), ())
        yield Case(module, name, _TIMM.format(name=name), "default,layout", small)


def _transformers(families: list[str] | None) -> Iterator[Case]:
    from transformers.models.auto.modeling_auto import MODEL_MAPPING_NAMES

    names = sorted(MODEL_MAPPING_NAMES)
    random.Random(_SEED).shuffle(names)
    for name in families or names:
        text = _TRANSFORMERS.format(name=name, largest=_LARGEST)
        yield Case(name, name, text, "default,layout,padding", ((),))


def _probed(case: Case, rules: Mapping[str, ActiveRule], pool: Pool) -> dict[str, Any]:
    for inputs in case.inputs:
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "zoo_model.py").write_text(case.text, encoding="utf-8")
            request = Request(
                "zoo_model.py:build",
                inputs,
                root=Path(folder),
                timeout=900,
                probes=parse_probes(case.probes),
                quick=True,
            )
            (found,) = trace_targets([request], rules, pool=pool)
        if found.trace is not None and found.trace.level() == "record":
            break
    return {"family": case.family, "name": case.name, "input": " ".join(inputs), **_summary(found)}


def _summary(found: TargetReport) -> dict[str, Any]:
    trace = found.trace
    shown = [
        diagnostic
        for diagnostic in found.diagnostics
        if diagnostic.severity is not Severity.INFO and diagnostic.confidence is not Confidence.POSSIBLE
    ]
    failure = next((diagnostic.message for diagnostic in shown if diagnostic.code == "ML003"), None)
    no_input = "no forward could be run" if trace is not None and trace.level() != "record" else None
    return {
        "problem": found.problem or failure or no_input,
        "probes": {result.probe: _outcome(result) for result in trace.probes} if trace else {},
        "findings": [
            f"{d.code} {Path(d.filename).name}:{d.span.start.row} {d.message}" for d in shown if d.code != "ML003"
        ],
    }


def _outcome(result: ProbeResult) -> dict[str, Any]:
    return {
        "verdict": result.verdict,
        "reason": result.reason,
        "metric": None if result.metric is None else repr(result.metric),
        "seconds": round(result.seconds, 2),
    }


def report(zoo: str, entries: list[dict[str, Any]]) -> str:
    """Return the part of docs/probe-zoo.md on one zoo."""
    ran = [entry for entry in entries if not entry["problem"]]
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for entry in ran:
        for name, outcome in entry["probes"].items():
            counts[name][outcome["verdict"]] += 1
    verdicts = (PASSED, FAILED, VACUOUS, SKIPPED)
    rows = "\n".join(
        f"| `{name}` | " + " | ".join(str(count[verdict]) for verdict in verdicts) + " |"
        for name, count in counts.items()
    )
    alarms = [
        f"- `{entry['name']}` ({_JUDGED.get(entry['name'], 'not judged yet')}): {finding}"
        for entry in ran
        for finding in entry["findings"]
    ]
    others = [entry for entry in entries if entry["problem"]]
    what = "no small configuration, or no inputs of its own: " if zoo == "transformers" else ""
    models = ", ".join(f"`{entry['name']}`" for entry in ran)
    return (
        f"## {zoo}: {len(ran)} models\n\n"
        f"| probe | {' | '.join(verdicts)} |\n|---|{'---|' * len(verdicts)}\n{rows}\n\n"
        f"Findings:\n\n{chr(10).join(sorted(alarms)) or 'None.'}\n\n"
        f"Models: {models}.\n\n"
        f"Not run, {what}{', '.join(f'`{name}`' for name in sorted(entry['name'] for entry in others)) or 'none'}.\n"
    )


if __name__ == "__main__":
    main()
