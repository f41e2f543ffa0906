"""Run the architectures of probe_backends.py on a GPU: `python benchmarks/probe_gpu.py --out gpu.jsonl`.

Each is compared with itself on the processor (`--probe cuda`), then asked on the GPU whether an answer depends on the
neighbours and on the size of the batch, under each of `SETTINGS`. All have random weights and are in evaluation mode:
every failure is an alarm to be judged. A line of JSON is appended for each model, setting and probe. `--report FILE`
writes the table of docs/batch-invariance.md and runs nothing.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from probe_backends import MODELS, probe_rules, probed, read, zoo_pool

SETTINGS = {
    "torch's defaults": "",
    "TF32 everywhere": "torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True",
    "TF32 nowhere": "torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False",
    "cuDNN's benchmark": "torch.backends.cudnn.benchmark = True",
}
_PROBES = ("repeat", "neighbours", "alone")
_ON_THE_GPU = "\n\nimport torch\n{0}\n\n\ndef on_the_gpu():\n    return build().cuda()\n"
_COLUMNS = (("against the processor", "cuda"), *((setting, probe) for probe in _PROBES for setting in SETTINGS))


def main() -> None:
    """Run, or write the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="the file of results, appended to")
    parser.add_argument("--model", action="append", help="run this one, and no other")
    parser.add_argument("--report", type=Path, metavar="FILE", help="write the report on the results, and run nothing")
    options = parser.parse_args()
    if options.report:
        options.report.write_text(report(list(read(options.out))), encoding="utf-8")
        return
    rules = probe_rules()
    with zoo_pool() as pool, options.out.open("a", encoding="utf-8") as stream:
        for model in options.model or MODELS:
            for setting, probe in _COLUMNS:
                if setting in SETTINGS:
                    more = {"more": _ON_THE_GPU.format(SETTINGS[setting]), "factory": "on_the_gpu"}
                else:
                    more = {}
                found = probed(model, probe, rules, pool, **more)
                print(
                    json.dumps({"model": model, "setting": setting, "probe": probe, **found}), file=stream, flush=True
                )


def report(entries: list[dict[str, Any]]) -> str:
    """Return the table: a row for each model, a column for each setting and probe."""
    known = {(entry["model"], entry["setting"], entry["probe"]): entry for entry in entries}
    head = " | ".join(f"`{probe}`, {setting}" for setting, probe in _COLUMNS)
    rows = "\n".join(
        f"| {model} | " + " | ".join(_cell(known.get((model, *column))) for column in _COLUMNS) + " |"
        for model in MODELS
    )
    return f"| model | {head} |\n|---|{'---|' * len(_COLUMNS)}\n{rows}\n"


def _cell(entry: dict[str, Any] | None) -> str:
    if entry is None:
        return ""
    if entry["metric"] is None:
        return str(entry["verdict"])
    number = f"{float(entry['metric']):.1e}" if float(entry["metric"]) else "0"
    cause = f" ({entry['cause']})" if entry["cause"] else ""
    return f"**failed** {number}{cause}" if entry["verdict"] == "failed" else number + cause


if __name__ == "__main__":
    main()
