"""The texts of the scripts that show what a probe found. Braces are doubled in those that are filled in."""

from __future__ import annotations

HEAD = '''"""{title}

{reason}
Found by `modellint trace --probe {probe}`. Needs {needs} and the model: python {name}
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
        return [value.detach().cpu().clone()]
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
BODIES = {
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
    "threads": """
first, before = run(model, args, kwargs), torch.get_num_threads()
torch.set_num_threads(1 if before > 1 else 2)
found = gap(first, run(model, args, kwargs))
print(f"{before} threads and {torch.get_num_threads()}: the answers differ by {found:.3g} of the largest value")
""",
    "converted": """


def converted(value):
    if isinstance(value, torch.Tensor):
        return value.to(device={device}, dtype={dtype} if value.is_floating_point() else None)
    if isinstance(value, dict):
        return {{key: converted(item) for key, item in value.items()}}
    return type(value)(converted(item) for item in value) if isinstance(value, (list, tuple)) else value


{check}other = copy.deepcopy(model).to(device={device}, dtype={dtype})
found = gap(run(model, args, kwargs), run(other, converted(args), converted(kwargs)))
print(f"as it is and in {probe}: the answers differ by {{found:.3g}} of the largest value")
""",
    "onnxruntime": """
import io

import onnxruntime

buffer = io.BytesIO()
torch.onnx.export(model, args, kwargs=kwargs, dynamo=True, verbose=False).save(buffer)
session = onnxruntime.InferenceSession(buffer.getvalue(), providers=["CPUExecutionProvider"])
names = [item.name for item in session.get_inputs()]
given = {name: tensor.numpy() for name, tensor in zip(names, tensors([args, kwargs]))}
found = gap(run(model, args, kwargs), [torch.from_numpy(value) for value in session.run(None, given)])
print(f"onnxruntime and eager: the answers differ by {found:.3g} of the largest value")
""",
    "padding": """
# Inputs by place: 0 and a position, or 1 and a name. From position `kept` on, there is padding.
masks, contents, kept, marks = {masks}, {contents}, {kept}, {marks}
size, length = [args, kwargs][masks[0][0]][masks[0][1]].shape


def padded(how):
    given = [list(args), dict(kwargs)]
    generator = torch.Generator().manual_seed(1)
    for place, key in masks + contents:
        tensor = given[place][key].clone()
        tail = tensor[:, kept:]
        if (place, key) in masks:
            tensor[:] = marks
            tail[:] = 1 - marks
        elif how != "other values":
            tail[:] = tensor[:, :1].clone()
        elif tensor.is_floating_point():
            tail[:] = torch.randn(tail.shape, generator=generator) * 4
        else:
            tail[:] = torch.randint(int(tensor.min()), int(tensor.max()) + 1, tail.shape, generator=generator)
        given[place][key] = tensor[:, :kept].contiguous() if how == "no padding" else tensor
    return tuple(given[0]), given[1]


def counted(tensor):
    for axis in range(min(2, tensor.dim())):
        if tensor.shape[axis] in (length, kept) and tensor.shape[axis] != size:
            return tensor.narrow(axis, 0, kept)
    return tensor


def answers(how):
    return [counted(tensor) for tensor in run(model, *padded(how)) if length not in tensor.shape[2:]]


found = gap(answers("padding"), answers("{how}"))
print(f"with padding and with {how}: the answers differ by {{found:.3g}} of the largest value")
""",
}
