"""Run ten architectures through every backend of ML703: `python benchmarks/probe_backends.py --out backends.jsonl`.

timm, torchvision and transformers, small, with random weights and in evaluation mode: every failure is an alarm to be
judged. A line of JSON is appended for each model and backend, so that a run which was stopped goes on where it was.
`--report FILE` writes the table of docs/probe-zoo.md and runs nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from modellint.catalog import ActiveRule, load_rules
from modellint.runtime import Pool, Request, trace_targets
from modellint.runtime.probes.names import parse_probes

_BACKENDS = ("threads", "float64", "bfloat16", "export", "aot_eager", "inductor", "onnxruntime")
_IMAGES = ("float32[2,3,{0},{0}]",)
_WITHOUT_CACHE = ("input_ids=int64[2,9]:3..100", "use_cache=False")
_TIMM = "import timm\n\n\ndef build():\n    return timm.create_model({0!r}, pretrained=False).eval()\n"
_TORCHVISION = "import torchvision\n\n\ndef build():\n    return torchvision.models.{0}(weights=None).eval()\n"
_TRANSFORMERS = "from zoo_transformers import small\n\n\ndef build():\n    return small({0!r}).eval()\n"
MODELS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "resnet18": (_TIMM, (_IMAGES[0].format(64),)),
    "vit_tiny_patch16_224": (_TIMM, (_IMAGES[0].format(224),)),
    "convnext_atto": (_TIMM, (_IMAGES[0].format(64),)),
    "efficientnet_lite0": (_TIMM, (_IMAGES[0].format(64),)),
    "mobilenet_v3_small": (_TORCHVISION, (_IMAGES[0].format(64),)),
    "bert": (_TRANSFORMERS, ()),
    "gpt2": (_TRANSFORMERS, _WITHOUT_CACHE),
    "llama": (_TRANSFORMERS, _WITHOUT_CACHE),
    "whisper": (_TRANSFORMERS, ()),
    "clip": (_TRANSFORMERS, ()),
}


def main() -> None:
    """Run, or write the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="the file of results, appended to")
    parser.add_argument("--model", action="append", help="run this one, and no other")
    parser.add_argument("--backend", action="append", help="run this one, and no other")
    parser.add_argument("--report", type=Path, metavar="FILE", help="write the report on the results, and run nothing")
    options = parser.parse_args()
    entries = {(entry["model"], entry["backend"]): entry for entry in read(options.out)}
    if options.report:
        options.report.write_text(report(list(entries.values())), encoding="utf-8")
        return
    rules = probe_rules()
    with zoo_pool() as pool, options.out.open("a", encoding="utf-8") as stream:
        for model in options.model or MODELS:
            for backend in options.backend or _BACKENDS:
                if (model, backend) not in entries or options.model:
                    entry = {"model": model, "backend": backend, **probed(model, backend, rules, pool)}
                    print(json.dumps(entry), file=stream, flush=True)


def probe_rules() -> dict[str, ActiveRule]:
    """Return the rules that probes report."""
    return {code: ActiveRule.default(rule) for code, rule in load_rules().items() if rule.family == "probe"}


def zoo_pool() -> Pool:
    """Return the processes in which the models are built, their libraries imported once."""
    # torchvision's wheel does not import beside a CPU build of torch without what this folder declares.
    helpers = str(Path(__file__).resolve().parents[1] / "tests" / "runtime")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (helpers, os.environ.get("PYTHONPATH"))))
    return Pool(preload=("zoo_libraries",))


def read(file: Path) -> Iterator[dict[str, Any]]:
    """Yield the results in a file of JSON lines, none where there is no file yet."""
    if file.exists():
        yield from map(json.loads, file.read_text(encoding="utf-8").splitlines())


def probed(
    model: str, probe: str, rules: Mapping[str, ActiveRule], pool: Pool, *, more: str = "", factory: str = "build"
) -> dict[str, Any]:
    """Run one probe on one of `MODELS`; `more` is appended to the file that builds it, where `factory` may stand."""
    text, inputs = MODELS[model]
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "zoo_model.py").write_text(text.format(model) + more, encoding="utf-8")
        request = Request(
            f"zoo_model.py:{factory}", inputs, root=Path(folder), timeout=600, probes=parse_probes(probe), quick=True
        )
        (found,) = trace_targets([request], rules, pool=pool)
    if found.trace is None or not found.trace.probes:
        return {"verdict": "not run", "reason": found.problem or "no forward could be run"}
    (result,) = found.trace.probes
    return {
        "verdict": result.verdict,
        "reason": result.reason,
        "cause": result.cause,
        "metric": None if result.metric is None else repr(result.metric),
        "tolerance": result.tolerance,
        "culprits": [
            {"module": culprit.module, "op": culprit.op, "in": repr(culprit.inherited), "out": repr(culprit.own)}
            for culprit in result.culprits
        ],
        "seconds": round(result.seconds, 2),
    }


def report(entries: list[dict[str, Any]]) -> str:
    """Return the part of docs/probe-zoo.md on backends."""
    backends = [name for name in _BACKENDS if any(entry["backend"] == name for entry in entries)]
    known = {(entry["model"], entry["backend"]): entry for entry in entries}
    models = [name for name in MODELS if any(entry["model"] == name for entry in entries)]
    rows = "\n".join(
        f"| {model} | " + " | ".join(_cell(known.get((model, name))) for name in backends) + " |" for model in models
    )
    notes = "\n".join(
        f"- {entry['model']}, {entry['backend']}: {entry['verdict']}, {entry['reason']}"
        for entry in entries
        if entry["reason"]
    )
    head = " | ".join(f"`{name}`" for name in backends)
    return f"| model | {head} |\n|---|{'---|' * len(backends)}\n{rows}\n\n{notes}\n"


def _cell(entry: dict[str, Any] | None) -> str:
    if entry is None:
        return ""
    if entry["metric"] is None:
        return f"{entry['verdict']}, {entry['seconds']:.1f} s"
    cell = f"{float(entry['metric']):.1e}, {entry['seconds']:.1f} s"
    if entry["verdict"] != "failed":
        return cell
    blamed = ", ".join(
        f"{item['module']} {item['op']} ({float(item['in']):.1e} in, {float(item['out']):.1e} out)"
        for item in entry["culprits"]
    )
    return f"**failed** {cell}: {blamed or 'no culprit'}"


if __name__ == "__main__":
    main()
