"""A script of its own, torch only, that shows what a probe found. Never imports torch itself."""

from __future__ import annotations

from collections.abc import Sequence

from modellint.runtime.probes.result import FAILED, SECOND_CALL, ProbeResult
from modellint.runtime.specs import COMPLEX, FLOATS, InputSpec
from modellint.runtime.target import Target

_HEAD = '''"""{title}

{reason}
Found by `modellint trace --probe {probe}`. Needs torch and the model: python {name}
Exit status 1 while the defect is there, 0 once it is gone.
"""

import copy
import importlib
import importlib.util
import sys

import torch


def load():
{load}


def build(seed=0):
    torch.manual_seed(seed)
    made = getattr(load(), "{attribute}")
    model = made if isinstance(made, torch.nn.Module) else made()
{mode}    return model


def inputs(module):
    generator = torch.Generator().manual_seed(0)
{inputs}


def tensors(value):
    if isinstance(value, torch.Tensor):
        return [value.detach().clone()]
    if isinstance(value, dict):
        value = list(value.values())
    elif not isinstance(value, (list, tuple)):
        value = list(vars(value).values()) if hasattr(value, "__dict__") else []
    return [tensor for item in value for tensor in tensors(item)]


def run(model, args, kwargs, reseed=True):
    if reseed:
        torch.manual_seed(0)
    call = getattr(model, "{method}") if "{method}" else model
    with torch.no_grad():
        return tensors(call(*copy.deepcopy(args), **copy.deepcopy(kwargs)))


def gap(left, right):
    if [t.shape for t in left] != [t.shape for t in right]:
        return float("inf")
    pairs = [(a.double(), b.double()) for a, b in zip(left, right) if a.numel()]
    return max((float((a - b).abs().max() / a.abs().max().clamp_min(1e-30)) for a, b in pairs), default=0.0)


model = build()
args, kwargs = inputs(load())
'''
_BODIES = {
    "repeat": """
first = run(model, args, kwargs, reseed=False)
found = gap(first, run(model, args, kwargs, reseed=False))
print(f"the same input twice: the answers differ by {found:.3g} of the largest value")
""",
    "repeat, same tensors": """
call = getattr(model, "{method}") if "{method}" else model
with torch.no_grad():
    first, second = (tensors(call(*args, **kwargs)) for _ in range(2))
found = gap(first, second)
print(f"the same tensors twice: the answers differ by {{found:.3g}} of the largest value")
""",
    "repeat, after another input": """


def other(value):
    if isinstance(value, torch.Tensor):
        return torch.randn_like(value) if value.is_floating_point() else value.flip(tuple(range(value.dim())))
    if isinstance(value, dict):
        return {{key: other(item) for key, item in value.items()}}
    return type(value)(other(item) for item in value) if isinstance(value, (list, tuple)) else value


fresh = copy.deepcopy(model)
first = run(fresh, args, kwargs, reseed=False)
run(model, other(args), other(kwargs), reseed=False)
found = gap(first, run(model, args, kwargs, reseed=False))
print(f"the same input first and after another: the answers differ by {{found:.3g}} of the largest value")
""",
    "neighbours": """
first = next(t for t in tensors([args, kwargs]) if t.dim())
size, axis, keep = first.shape[{axis}], {axis}, {keep}
others = [index for index in range(size) if index != keep % size]


def changed(value, scale):
    if isinstance(value, torch.Tensor) and value.dim() > axis and value.shape[axis] == size:
        value = value.clone()
        for index in others:
            sample = value.select(axis, index)
            if scale is None:
                sample.copy_(value.select(axis, keep % size).clone())
            elif value.is_floating_point():
                sample.copy_(torch.randn(sample.shape) * scale)
            elif value.dtype is not torch.bool:
                low, high = int(value.min()), int(value.max())
                drawn = torch.randint(low, high + 1, sample.shape)
                sample.copy_(drawn if 0 < abs(scale) < 100 else torch.full_like(drawn, high if scale else low))
        return value
    if isinstance(value, dict):
        return {{key: changed(item, scale) for key, item in value.items()}}
    return type(value)(changed(item, scale) for item in value) if isinstance(value, (list, tuple)) else value


def kept(outputs):
    found = [t for t in outputs if t.dim() and size in t.shape]
    return [t.select(list(t.shape).index(size), keep % size) for t in found]


before, found = kept(run(model, args, kwargs)), 0.0
for scale in (8.0, -8.0, 1.0, 0.0, 100.0, -100.0, None):
    torch.manual_seed(1)
    others_changed = changed(args, scale), changed(kwargs, scale)
    found = max(found, gap(before, kept(run(copy.deepcopy(model), *others_changed))))
print(f"sample {{keep}} with other neighbours: its answer differs by {{found:.3g}} of the largest value")
""",
    "alone": """
first = next(t for t in tensors([args, kwargs]) if t.dim())
size = first.shape[0]


def of_size(value, count):
    if isinstance(value, torch.Tensor):
        rows = [index % size for index in range(count)]
        return value[rows] if value.dim() and value.shape[0] == size else value
    if isinstance(value, dict):
        return {key: of_size(item, count) for key, item in value.items()}
    return type(value)(of_size(item, count) for item in value) if isinstance(value, (list, tuple)) else value


before = [t[:1] for t in run(model, args, kwargs) if t.dim() and t.shape[0] == size]
found = 0.0
for count in (1, 2, 3, 8):
    try:
        after = run(copy.deepcopy(model), of_size(args, count), of_size(kwargs, count))
    except Exception as error:
        if count == 1:
            sys.exit(f"a sample alone stops the forward: {error!r}")
        continue
    found = max(found, gap(before, [t[:1] for t in after if t.dim() and t.shape[0] == count]))
print(f"a sample in batches of other sizes than {size}: the answers differ by {found:.3g} of the largest value")
""",
    "reload": """
fresh = build(seed=1)
fresh.load_state_dict(model.state_dict())
found = gap(run(model, args, kwargs), run(fresh, args, kwargs))
print(f"saved and loaded into a fresh model: the answers differ by {found:.3g} of the largest value")
""",
    "reload, under other seeds": """
fresh = build(seed=1)
fresh.load_state_dict(model.state_dict())
first = run(model, args, kwargs)
torch.manual_seed(1)
found = gap(first, run(fresh, args, kwargs, reseed=False))
print(f"loaded into a fresh model in another process: the answers differ by {{found:.3g}} of the largest value")
""",
    "layout": """

def laid_out(value, how):
    if isinstance(value, torch.Tensor):
        return how(value) if value.dim() else value
    if isinstance(value, dict):
        return {{key: laid_out(item, how) for key, item in value.items()}}
    return type(value)(laid_out(item, how) for item in value) if isinstance(value, (list, tuple)) else value


def transposed(value):
    return value.transpose(-1, -2).contiguous().transpose(-1, -2) if value.dim() > 1 else value


def every_second(value):
    return torch.stack([value, value], -1).flatten(-2)[..., ::2]


def at_an_offset(value):
    return torch.cat([value.flatten()[:1], value.flatten()])[1:].view(value.shape)


def channels_last(value):
    return value.contiguous(memory_format=torch.channels_last) if value.dim() == 4 else value


found, name, reference = 0.0, "", run(model, args, kwargs)
call = getattr(model, "{method}") if "{method}" else model
for how in (transposed, every_second, at_an_offset, channels_last):
    torch.manual_seed(0)
    with torch.no_grad():
        # No copies: they would be laid out anew.
        answer = tensors(call(*laid_out(args, how), **laid_out(kwargs, how)))
    found, name = max((found, name), (gap(reference, answer), how.__name__))
print(f"the same values laid out in another way ({{name}}): the answers differ by {{found:.3g}} of the largest value")
""",
    "export": """
exported = torch.export.export(model, args, kwargs, strict=False).module()
found = gap(run(model, args, kwargs), run(exported, args, kwargs))
print(f"exported and eager: the answers differ by {found:.3g} of the largest value")
""",
    "aot_eager": """
compiled = torch.compile(model, backend="aot_eager")
found = gap(run(model, args, kwargs), run(compiled, args, kwargs))
print(f"compiled and eager: the answers differ by {found:.3g} of the largest value")
""",
    "inductor": """
compiled = torch.compile(model)
found = gap(run(model, args, kwargs), run(compiled, args, kwargs))
print(f"compiled and eager: the answers differ by {found:.3g} of the largest value")
""",
}
_AS_IS = "    if isinstance(made, type):\n        model.eval()\n"
"""A bare class is put into eval mode, as the trace does."""
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
    again = result.details.get(SECOND_CALL)
    body = _BODIES.get(f"{result.probe}, {again}" if again else result.probe)
    given = _inputs(specs)
    if body is None or given is None or result.verdict != FAILED:
        return None
    details = result.details
    if result.probe == "neighbours":
        keep = {"the first": 0, "the second": 1}.get(str(details.get("kept")), -1)
        body = body.format(axis=details.get("axis", 0), keep=keep)
    if again or result.probe == "layout":
        body = body.format(method=method or "")
    head = _HEAD.format(
        title=f"{target.text}: {result.cause or result.probe}.",
        reason=_quoted(result.reason),
        probe=result.probe,
        name=name,
        load=_load(target),
        attribute=target.name,
        mode={"eval": "    model.eval()\n", "train": "    model.train()\n"}.get(mode, _AS_IS),
        inputs=given,
        method=method or "",
    )
    return head + body + _TAIL.format(limit=result.tolerance or 0.0)


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
