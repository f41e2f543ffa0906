"""The one place that touches underscored or fast-moving parts of torch."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from torch.overrides import TorchFunctionMode, resolve_name
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

__all__ = [
    "GRADIENT_CALLS",
    "TorchDispatchMode",
    "TorchFunctionMode",
    "eager",
    "function_name",
    "is_seeded",
    "is_seeded_by_name",
    "load_scripted",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "schema_names",
    "schema_of",
    "set_grad_enabled",
    "tensors",
    "unobserved",
    "written",
]

set_grad_enabled: Any = torch._C._set_grad_enabled
"""What `enable_grad`, `no_grad` and `set_grad_enabled` call; a function mode sees it."""

GRADIENT_CALLS: frozenset[Any] = frozenset({torch.autograd.grad, torch.Tensor.backward})
"""Who calls these inside a forward wants the gradients that it records."""


@cache
def is_seeded(overload: Any) -> bool:
    """Tell whether an operator draws random numbers (it may be inert with the arguments at hand)."""
    return torch.Tag.nondeterministic_seeded in getattr(overload, "tags", ())


@cache
def is_seeded_by_name(name: str) -> bool:
    """Tell the same of an operator that a file names (`aten.dropout.default`); an unknown one draws nothing."""
    namespace, _, rest = name.partition(".")
    packet, _, overload = rest.partition(".")
    found = getattr(getattr(torch.ops, namespace), packet, None)
    return is_seeded(getattr(found, overload, None))


def schema_of(node: Any) -> Any:
    """Return the schema of a node of a TorchScript graph, None where it has none."""
    text = node.schema()
    return torch._C.parse_schema(text) if text and text != "(no schema)" else None


def load_scripted(path: Path) -> tuple[Any, Any]:
    """Return the module in a TorchScript file and the unit that holds its functions. Raises what torch raises."""
    unit = torch._C.CompilationUnit()
    module = torch._C.import_ir_module(unit, str(path), torch.device("cpu"), {}, False)  # type: ignore[call-arg]
    return torch.jit._recursive.wrap_cpp_module(module), unit  # type: ignore[no-untyped-call]


@cache
def schema_names(overload: Any) -> tuple[str, ...]:
    """Return the names of an operator's arguments, in order."""
    schema = getattr(overload, "_schema", None)
    return tuple(argument.name for argument in schema.arguments) if schema is not None else ()


@cache
def written(overload: Any) -> tuple[tuple[int, str], ...]:
    """Return position and name of the arguments that the operator writes to."""
    schema = getattr(overload, "_schema", None)
    return tuple(
        (index, argument.name)
        for index, argument in enumerate(schema.arguments if schema is not None else ())
        if argument.alias_info is not None and argument.alias_info.is_write
    )


@contextmanager
def unobserved() -> Iterator[None]:
    """Run torch code of our own in the middle of a recording without recording it."""
    with torch._C.DisableTorchFunction(), _disable_current_modes(), _outside_transforms():
        yield


def _outside_transforms() -> AbstractContextManager[Any]:
    """Return a context outside `torch.func.vmap`, `grad` and the like, whose tensors have no data of their own."""
    if torch._C._functorch.peek_interpreter_stack() is None:
        return nullcontext()
    from torch._functorch.pyfunctorch import temporarily_clear_interpreter_stack

    outside: AbstractContextManager[Any] = temporarily_clear_interpreter_stack()
    return outside


def eager() -> AbstractContextManager[Any]:
    """Return a context in which whatever torch.compile wraps runs as it is written."""
    if "torch._dynamo" not in sys.modules or not hasattr(torch.compiler, "set_stance"):
        return nullcontext()
    stance: AbstractContextManager[Any] = torch.compiler.set_stance("force_eager")
    return stance


def function_name(function: Callable[..., Any]) -> str:
    """Return the public name of a function that a `TorchFunctionMode` was handed."""
    return str(resolve_name(function) or getattr(function, "__name__", repr(function)))


def tensors(value: Any, depth: int = 0) -> Iterator[torch.Tensor]:
    """Yield the tensors in nested lists, tuples, dicts, dataclasses and dict-like outputs."""
    if isinstance(value, torch.Tensor):
        yield value
    elif depth > 6 or value is None or isinstance(value, (str, bytes, int, float)):
        return
    elif isinstance(value, Mapping):
        for item in list(value.values()):
            yield from tensors(item, depth + 1)
    elif isinstance(value, (list, tuple, set)):
        for item in value:
            yield from tensors(item, depth + 1)
    elif isinstance(getattr(value, "__dict__", None), dict) and not isinstance(value, (type, torch.nn.Module)):
        for item in list(vars(value).values()):
            yield from tensors(item, depth + 1)
