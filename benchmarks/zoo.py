"""Trace whole model zoos and write what came of it: `python benchmarks/zoo.py --out FOLDER --report docs/zoo.md`.

timm: each architecture, built on the meta device without weights. transformers: each type that a small configuration
can be made for. planted: models of both, drawn by chance, with one defect in each. All are in evaluation mode. A line
of JSON is appended for each model to a file of its zoo in FOLDER, so that a run which was stopped goes on where it was;
`--minutes 0` writes the report of what there is. No model is downloaded. It takes an hour and a half on two cores.
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
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from zoo_report import page

from modellint.catalog import ActiveRule, load_rules
from modellint.diagnostic import Confidence, Diagnostic, Severity
from modellint.runtime import Pool, Request, TargetReport, trace_targets
from modellint.runtime.trace import Op, Trace

HERE = Path(__file__).resolve().parent
ZOOS = ("timm", "transformers", "planted")
_SEED = 20261121
_TIMM = """
import timm
import torch
from small_models import Unfilled


def build():
    with torch.device("meta"), Unfilled():
        return timm.create_model({name!r}, pretrained=False).eval()
"""
_TRANSFORMERS = """
from small_models import small

_made = []


def build():
    model, inputs = small({name!r})
    _made[:] = [inputs]
    return model


def example_inputs():
    return _made[0]
"""
_PLANTED = {
    "timm": """
import planting


def planted():
    model = build()
    with torch.device("meta"):
        inputs = (torch.randn(2, *model.pretrained_cfg["input_size"]),)
    return planting.plant(model, (inputs, {{}}), {kind!r}, {seed!r})
""",
    "transformers": """
import planting


def planted():
    model = build()
    return planting.plant(model, ((), example_inputs()), {kind!r}, {seed!r})
""",
}


def main() -> None:
    """Run, and write the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--zoo", choices=ZOOS, action="append", help="run this zoo alone; may be repeated")
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="where the results are kept")
    parser.add_argument("--minutes", type=float, default=600.0, help="stop after this time")
    parser.add_argument("--planted", type=int, default=10, metavar="N", help="models for each kind of defect and zoo")
    parser.add_argument("--report", type=Path, metavar="FILE", help="write the report to this file")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    # torchvision's wheel does not import beside a CPU build of torch without what `zoo_libraries` declares.
    helpers = [str(HERE), str(HERE.parent / "tests" / "runtime")]
    sys.path[:0] = helpers
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (*helpers, os.environ.get("PYTHONPATH"))))
    importlib.import_module("zoo_libraries")
    import timm
    from small_models import types

    listed = {"timm": timm.list_models(), "transformers": types()}
    until = time.monotonic() + 60 * options.minutes
    with Pool(preload=("zoo_libraries", "small_models", "planting")) as pool:
        for zoo in options.zoo or ZOOS:
            _run(zoo, listed, options, until, pool)
    if options.report:
        results = {zoo: list(_read(options.out / f"{zoo}.jsonl")) for zoo in ZOOS}
        page_text = page(results, {name: len(models) for name, models in listed.items()})
        options.report.write_text(page_text, encoding="utf-8")


def _run(zoo: str, listed: Mapping[str, Sequence[str]], options: argparse.Namespace, until: float, pool: Pool) -> None:
    file = options.out / f"{zoo}.jsonl"
    known = {entry["name"] for entry in _read(file)}
    rules = {code: ActiveRule.default(rule) for code, rule in load_rules().items() if rule.enabled}
    if not rules:
        raise SystemExit("there are no rules beside this file: nothing could be found")
    with file.open("a", encoding="utf-8") as stream:
        for name in listed.get(zoo) or list(_sample(options.planted, listed)):
            if time.monotonic() > until:
                return
            if name not in known:
                print(json.dumps(_entry(zoo, name, rules, pool)), file=stream, flush=True)


def _read(file: Path) -> Iterator[dict[str, Any]]:
    if file.exists():
        yield from map(json.loads, file.read_text(encoding="utf-8").splitlines())


def _sample(number: int, listed: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield `zoo/model/kind`, so many for each zoo and kind, the same ones each time."""
    from planting import KINDS

    for zoo, names in listed.items():
        for kind in KINDS:
            draw = random.Random(f"{_SEED} {zoo} {kind}")
            yield from (f"{zoo}/{name}/{kind}" for name in draw.sample(sorted(names), number))


def _entry(zoo: str, name: str, rules: Mapping[str, ActiveRule], pool: Pool) -> dict[str, Any]:
    if zoo != "planted":
        text = (_TIMM if zoo == "timm" else _TRANSFORMERS).format(name=name)
        return {"name": name, **_summary(_traced(text, "build", rules, pool), zoo)}
    library, model, kind = name.split("/")
    text = (_TIMM if library == "timm" else _TRANSFORMERS).format(name=model)
    text += _PLANTED[library].format(kind=kind, seed=f"{_SEED} {name}")
    found = _traced(text, "planted", rules, pool)
    return {"name": name, **_summary(found, library), **_judged(found)}


def _traced(text: str, factory: str, rules: Mapping[str, ActiveRule], pool: Pool) -> TargetReport:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "zoo_model.py").write_text(text, encoding="utf-8")
        request = Request(f"zoo_model.py:{factory}", root=Path(folder), timeout=240)
        (found,) = trace_targets([request], rules, pool=pool)
    return found


def _summary(found: TargetReport, library: str) -> dict[str, Any]:
    trace = found.trace
    recorded = [op for op in trace.ops if op.level == "record"] if trace else []
    lines = [_file(trace, op) for op in recorded] if trace else []
    return {
        "problem": found.problem,
        "level": trace.level() if trace else None,
        "modules": len(trace.modules) if trace else 0,
        "ops": len(recorded),
        "ops_with_line": sum(bool(line) for line in lines),
        "ops_in_library": sum(f"/{library}/" in line for line in lines),
        "peak": found.peak,
        "findings": [
            f"{diagnostic.code} {Path(diagnostic.filename).name}:{diagnostic.span.start.row}"
            for diagnostic in _told(found)
        ],
    }


def _file(trace: Trace, op: Op) -> str:
    site = trace.site(op.site)
    return site.frame.filename if site is not None else ""


def _told(found: TargetReport) -> list[Diagnostic]:
    """Return the findings that a user who changes nothing gets to see as warnings or errors."""
    return [
        diagnostic
        for diagnostic in found.diagnostics
        if diagnostic.severity is not Severity.INFO and diagnostic.confidence is not Confidence.POSSIBLE
    ]


def _judged(found: TargetReport) -> dict[str, Any]:
    """Say of a planted defect whether it was found at its module and line, and who else was blamed."""
    marks = [line for line in found.output.splitlines() if line.startswith("PLANTED ")]
    if not marks:
        return {"planted": None}
    mark = json.loads(marks[-1].removeprefix("PLANTED "))
    at, elsewhere = False, []
    for diagnostic in _told(found):
        path = diagnostic.runtime.module_path if diagnostic.runtime else None
        places = {f"{diagnostic.filename}:{diagnostic.span.start.row}"}
        places |= {f"{related.filename}:{related.position.row}" for related in diagnostic.related}
        if path != mark["path"]:
            elsewhere.append(f"{diagnostic.code} {path}")
        elif diagnostic.code in ("ML601", "ML602", "ML603"):
            at = at or not {_real(place) for place in places}.isdisjoint(_real(line) for line in mark["lines"])
    return {"planted": mark["path"], "native": mark["native"], "found": at, "elsewhere": elsewhere}


def _real(place: str) -> str:
    """Return `file:row` without the links on the way to the file: an environment may be one."""
    file, _, row = place.rpartition(":")
    return f"{Path(file).resolve()}:{row}"


if __name__ == "__main__":
    main()
