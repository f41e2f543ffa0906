"""Write the scripts of `--emit-repro`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from modellint.runtime import TargetReport
from modellint.runtime.probes.repro import script
from modellint.runtime.probes.result import FAILED
from modellint.runtime.specs import SpecError, parse_specs
from modellint.runtime.target import TargetError, parse_target


def emit(report: TargetReport, folder: Path) -> Iterator[str]:
    """Write a script for each failed probe of a model; yield a line about each. Raises `OSError`."""
    request = report.request
    root = (request.root or Path.cwd()).resolve()
    try:
        target, specs = parse_target(request.target, root), parse_specs(request.inputs, root)
    except (TargetError, SpecError):
        return
    for result in report.trace.probes if report.trace is not None else ():
        if result.verdict != FAILED:
            continue
        stem = "".join(c if c.isalnum() else "_" for c in request.name or f"{Path(request.target).stem}_{target.name}")
        path = folder / f"repro_{stem}_{result.probe}.py"
        text = script(target, specs, result, mode=request.mode, method=request.method, name=path.name)
        if text is None:
            yield f"{request.target}: no script for probe {result.probe}: its inputs cannot be written down"
            continue
        folder.mkdir(parents=True, exist_ok=True)
        temporary = path.with_suffix(".tmp")
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)
        yield f"{request.target}: wrote {path}"
