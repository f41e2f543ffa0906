"""A script of its own, torch only, that shows what a probe found. Never imports torch itself."""

from __future__ import annotations

from collections.abc import Sequence

from modellint.runtime.probes.repro_texts import BODIES, HEAD
from modellint.runtime.probes.result import FAILED, SECOND_CALL, ProbeResult
from modellint.runtime.specs import COMPLEX, FLOATS, InputSpec
from modellint.runtime.target import Target

_AS_IS = "    if isinstance(made, type):\n        model.eval()\n"
"""A bare class is put into eval mode, as the trace does."""
_NO_GPU = """if not torch.cuda.is_available():
    print("needs a GPU")
    sys.exit(2)
"""
_CONVERTED = {
    "float64": (None, "torch.float64", ""),
    "bfloat16": (None, "torch.bfloat16", ""),
    "cuda": ("'cuda'", None, _NO_GPU),
}
"""Device, precision and what comes first in the scripts for other devices and precisions."""
_TAIL = "sys.exit(int(found > {limit!r}))\n"


def script(
    target: Target,
    specs: Sequence[InputSpec],
    result: ProbeResult,
    *,
    mode: str = "as-is",
    method: str | None = None,
    name: str = "repro.py",
) -> str | None:
    """Return the script for a failed probe; None for a probe, or inputs, that it cannot write down."""
    body, given = _body(result, method or ""), _inputs(specs)
    if body is None or given is None or result.verdict != FAILED:
        return None
    head = HEAD.format(
        title=f"{target.text}: {result.cause or result.probe}.",
        reason=_quoted(result.reason),
        probe=result.probe,
        needs="torch, onnxruntime" if result.probe == "onnxruntime" else "torch",
        name=name,
        load=_load(target),
        attribute=target.name,
        mode={"eval": "    model.eval()\n", "train": "    model.train()\n"}.get(mode, _AS_IS),
        inputs=given,
        method=method or "",
    )
    return head + body + _TAIL.format(limit=result.tolerance or 0.0)


def _body(result: ProbeResult, method: str) -> str | None:
    """Return the part that shows the difference; None for a probe that has none."""
    probe, details = result.probe, result.details
    if again := details.get(SECOND_CALL):
        return BODIES[f"{probe}, {again}"].format(method=method)
    if probe == "neighbours":
        keep = {"the first": 0, "the second": 1}.get(str(details.get("kept")), -1)
        return BODIES[probe].format(axis=details.get("axis", 0), keep=keep)
    if probe in _CONVERTED:
        device, dtype, check = _CONVERTED[probe]
        return BODIES["converted"].format(device=device, dtype=dtype, check=check, probe=probe)
    if probe == "padding":
        masks, contents = ([_place(path) for path in details[name]] for name in ("masks", "under the mask"))
        if None in masks or None in contents:
            return None
        kept = details["positions"] - details["of them padding"]
        how = "no padding" if result.cause == "the length of the padding" else "other values"
        marks = details["a position that counts"]
        return BODIES[probe].format(masks=masks, contents=contents, kept=kept, marks=marks, how=how)
    if probe == "layout":
        return BODIES[probe].format(method=method)
    return BODIES.get(probe)


def _place(path: str) -> tuple[int, int | str] | None:
    """Return which of (args, kwargs) a path of an input leads into, and where; None for what is nested there."""
    which, *keys = path.split(".")
    if len(keys) != 1:
        return None
    return (0, int(keys[0])) if which == "0" else (1, keys[0])


def _quoted(text: str) -> str:
    return text.replace("\\", "/").replace('"""', "'''")


def _load(target: Target) -> str:
    if target.file is None:
        return f"    return importlib.import_module({target.module!r})"
    folder, file = str(target.file.parent), str(target.file)
    return (
        f"    sys.path.insert(0, {folder!r})\n"
        f'    spec = importlib.util.spec_from_file_location("model_under_test", {file!r})\n'
        "    module = importlib.util.module_from_spec(spec)\n"
        "    spec.loader.exec_module(module)\n"
        "    return module"
    )


def _inputs(specs: Sequence[InputSpec]) -> str | None:
    """Return the body that makes the inputs; None where a spec names a file or a nested place."""
    if not specs:
        return "    given = module.example_inputs()\n    return (given if isinstance(given, tuple) else (given,)), {}"
    args, kwargs = [], []
    for spec in specs:
        value = _value(spec)
        if value is None or len(spec.path) > 1:
            return None
        if spec.path:
            kwargs.append(f"{spec.path[0]!r}: {value}")
        else:
            args.append(value + ",")
    return f"    return ({' '.join(args)}), {{{', '.join(kwargs)}}}"


def _value(spec: InputSpec) -> str | None:
    if spec.is_literal:
        return repr(spec.literal)
    if spec.file is not None or spec.dtype is None:
        return None
    shape, dtype = list(spec.shape), f"torch.{spec.dtype}"
    if spec.dtype == "bool":
        return f"torch.randint(0, 2, {shape}, generator=generator).bool()"
    if spec.dtype in (*FLOATS, *COMPLEX):
        if spec.low is None or spec.high is None:
            return f"torch.randn({shape}, generator=generator).to({dtype})"
        return f"(torch.rand({shape}, generator=generator) * {spec.high - spec.low!r} + {spec.low!r}).to({dtype})"
    low, high = int(spec.low or 0), int(spec.high if spec.high is not None else 2)
    return f"torch.randint({low}, {high}, {shape}, generator=generator).to({dtype})"
