"""Observe one forward: every operation with its module, its source line and what it depends on."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from types import FrameType
from typing import Any

import torch
from torch import nn

from modellint.runtime.capture import adapter
from modellint.runtime.capture.functions import FUNCTION_NAMES, function_scalars, scalars
from modellint.runtime.capture.names import Names
from modellint.runtime.capture.operands import generator_state, shallow, shape, storage
from modellint.runtime.capture.sites import SiteTable
from modellint.runtime.capture.strays import in_constructor, running
from modellint.runtime.capture.walk import called, describe
from modellint.runtime.trace import INPUT, RANDOM, ModuleFact, Op

_MARK = "_modellint_taint"
_NOTABLE = (
    "dropout", "batch_norm", "attention", "rrelu", "lstm", "gru", "rnn_", "instance_norm",
    "scatter", "index_put", "put_.", "bincount",
)  # fmt: skip
"""Operators whose arguments rules ask for."""
_TO_PYTHON = ("item", "tolist", "numpy", "__bool__", "__int__", "__float__", "__index__", "__array__")


class Recorder:
    """Collects what one forward does. Use `recording()` around it; the results stay here afterwards.

    `before_writing` is told every parameter that is about to be written to.
    """

    def __init__(
        self,
        model: nn.Module,
        names: Names,
        sites: SiteTable,
        built: Mapping[int, int | None],
        before_writing: Callable[[torch.Tensor], None],
    ) -> None:
        self.ops: list[Op] = []
        self.calls: dict[str, ModuleFact] = {}
        self.random_reaches = False
        self.uses_gradients = False
        self._before_writing = before_writing
        self._draw_states: dict[int, int] = {}
        self._model = model
        self._names = names
        self._sites = sites
        self._built = built
        self._stack: list[tuple[nn.Module, str]] = []
        self._within: int | None = None
        self._any_input = False
        self._region = 0
        self._outside = False
        self._marked: list[torch.Tensor] = []
        self._stray: torch.Tensor | None = None
        self._strays: list[torch.Tensor] = []
        self._storages = {storage(parameter): parameter for parameter in model.parameters()}
        self._storages.pop(0, None)
        self._state = {id(tensor) for tensor in (*model.parameters(), *model.buffers())}

    @contextmanager
    def recording(self, inputs: Any) -> Iterator[None]:
        """Observe everything that runs inside; `inputs` are the values whose influence is followed."""
        self._outside = torch.is_grad_enabled()
        for tensor in adapter.tensors(inputs):
            self._any_input = True
            self._mark(tensor, INPUT)
        with ExitStack() as stack:
            stack.callback(self._unmark)
            stack.enter_context(adapter.eager())
            for register, hook in (
                (adapter.register_module_forward_pre_hook, self._enter),
                (adapter.register_module_forward_hook, self._leave),
            ):
                options = {"always_call": True} if hook == self._leave else {}
                handle = register(hook, **options)
                stack.callback(handle.remove)
            stack.enter_context(_Functions(self))
            stack.enter_context(_Dispatch(self))
            yield

    def finish(self, outputs: Any) -> None:
        """Note which draws reach `outputs`, the model's own state or Python; call inside `recording()`."""
        reached = any(self._taint_of(tensor) & RANDOM for tensor in adapter.tensors(outputs))
        reached = reached or any(
            self._taint_of(tensor) & RANDOM for tensor in (*self._model.parameters(), *self._model.buffers())
        )
        self.random_reaches = self.random_reaches or reached

    def state_of(self, index: int) -> int:
        """Return a fingerprint of the generator state from which the draw at `index` started."""
        return self._draw_states.get(index, 0)

    # Modules -----------------------------------------------------------------------------------------------

    def _enter(self, module: nn.Module, args: Any) -> None:
        parent = self._stack[-1][0] if self._stack else None
        frame = sys._getframe(1)
        if not self._names.registered(module):
            parent = self._note_strays(frame, parent)
        self._stack.append((module, self._note_call(module, parent, frame)))

    def _note_call(self, module: nn.Module, parent: nn.Module | None, frame: FrameType | None) -> str:
        path, registered = self._names.path(module, parent)
        fact = self.calls.get(path)
        if fact is None:
            fact = describe(module, path, self._built.get(id(module)), registered=registered)
            fact = called(fact, 0, self._sites.site(frame))
        self.calls[path] = replace(fact, calls=fact.calls + 1, training=fact.training or module.training)
        return path

    def _note_strays(self, frame: FrameType | None, parent: nn.Module | None) -> nn.Module | None:
        """Note unregistered modules that run without their `__call__` here; return the innermost, else `parent`."""
        for module, caller in running(frame, parent):
            if not self._names.registered(module):
                self._note_call(module, parent, caller)
                parent = module
        return parent

    def _note_owner(self, parameter: torch.Tensor, frame: FrameType | None) -> None:
        """Note the unregistered module whose parameter is in use, unless it is only being built."""
        if not in_constructor(frame):
            self._state.add(id(parameter))
            self._strays.append(parameter)  # held, so that its id stays its own
            self._note_strays(frame, self._stack[-1][0] if self._stack else None)

    def _leave(self, module: nn.Module, args: Any, output: Any) -> None:
        # An error that a caller catches unwinds several modules at once.
        while self._stack:
            if self._stack.pop()[0] is module:
                break

    # Operations --------------------------------------------------------------------------------------------

    def operation(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Record one dispatched operator and run it."""
        taint, first, wants_grad = self._inspect(args, kwargs)
        if self._stray is not None:
            self._note_owner(self._stray, sys._getframe(2))
            self._stray = None
        if first is None and not self._any_input:
            taint |= INPUT
        draws = adapter.is_seeded(func)
        name = str(func)
        notable = draws or any(part in name for part in _NOTABLE)
        index = len(self.ops)
        self.ops.append(
            Op(
                name=name,
                module=self._stack[-1][1] if self._stack else "",
                site=self._sites.site(sys._getframe(2)),
                args=scalars(adapter.schema_names(func), args, kwargs) if notable else {},
                taint=taint & (INPUT | RANDOM),
                grad=self._grad_region() if wants_grad else 0,
                draws=draws,
                within=self._within,
                shape=shape(first) if notable else (),
                dtype=str(first.dtype).removeprefix("torch.") if first is not None else None,
                device=first.device.type if first is not None else None,
            )
        )
        if draws:
            self._draw_states[index] = generator_state(args, kwargs)
            if self._within is None:
                self.ops[index] = replace(self.ops[index], in_init=in_constructor(sys._getframe(2)))
        for position, key in adapter.written(func):
            for tensor in adapter.tensors(args[position] if position < len(args) else kwargs.get(key)):
                if (parameter := self._storages.get(storage(tensor))) is not None:
                    self._before_writing(parameter)
        result = func(*args, **kwargs)
        outputs = list(adapter.tensors(result))
        if self.ops[index].live:
            taint |= RANDOM
        if first is None and outputs:
            self.ops[index] = replace(self.ops[index], device=outputs[0].device.type)
        if self.ops[index].grad:
            self.ops[index] = replace(self.ops[index], bytes=sum(t.numel() * t.element_size() for t in outputs))
            taint |= _GRAD
        if taint & RANDOM and any(part in name for part in ("_local_scalar_dense", "nonzero", "is_nonzero", "equal.")):
            self.random_reaches = True
        for tensor in outputs:
            self._mark(tensor, taint)
        for position, key in adapter.written(func):
            for tensor in adapter.tensors(args[position] if position < len(args) else kwargs.get(key)):
                self._mark(tensor, taint)
        return result

    def function(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Record one call of a public function, where it is a kind that we record whole, and run it."""
        if func is adapter.set_grad_enabled and args and args[0] is True:
            self._region += 1
        elif func in adapter.GRADIENT_CALLS:
            self.uses_gradients = True
        name = FUNCTION_NAMES.get(func)
        outer = self._within
        if name is not None and outer is None:
            taint, first, wants_grad = self._inspect(args, kwargs)
            self._within = len(self.ops)
            full = adapter.function_name(func)
            self._draw_states[self._within] = generator_state(args, kwargs)
            self.ops.append(
                Op(
                    name=full,
                    module=self._stack[-1][1] if self._stack else "",
                    site=self._sites.site(sys._getframe(2)),
                    args=function_scalars(func, name, full, args, kwargs),
                    taint=taint & (INPUT | RANDOM),
                    grad=self._grad_region() if wants_grad else 0,
                    draws="norm" not in name,
                    shape=shape(first),
                    dtype=str(first.dtype).removeprefix("torch.") if first is not None else None,
                    device=first.device.type if first is not None else None,
                )
            )
        try:
            result = func(*args, **kwargs)
        finally:
            self._within = outer
        if (bare := getattr(func, "__name__", "")) == "__setitem__" and len(args) > 2:
            self._mark(args[0], self._inspect(args[2:], {})[0])
        elif bare in _TO_PYTHON and self._inspect(args, {})[0] & RANDOM:
            self.random_reaches = True
        return result

    def _grad_region(self) -> int:
        """Return the number of the region, switched on by the forward, in which autograd records; 0 outside."""
        if not torch.is_grad_enabled():
            return 0
        # inference_mode(False) switches it on as well, and no function mode sees that.
        return self._region if self._outside else max(self._region, 1)

    # Taint -------------------------------------------------------------------------------------------------

    def _inspect(self, args: Any, kwargs: Mapping[str, Any]) -> tuple[int, torch.Tensor | None, bool]:
        taint, first, wants_grad = 0, None, False
        for value in (*args, *kwargs.values()):
            for tensor in (value,) if isinstance(value, torch.Tensor) else shallow(value):
                first = tensor if first is None else first
                mark = getattr(tensor, _MARK, 0)
                if not mark and not self._any_input:
                    mark = _STATE if id(tensor) in self._state else INPUT
                taint |= mark
                wants_grad = wants_grad or tensor.requires_grad
                if type(tensor) is nn.Parameter and id(tensor) not in self._state:
                    self._stray = tensor
        if taint & INPUT:
            taint &= ~_STATE
        return taint & ~_GRAD, first, wants_grad or bool(taint & _GRAD)

    @staticmethod
    def _taint_of(tensor: torch.Tensor) -> int:
        return int(getattr(tensor, _MARK, 0))

    def _mark(self, tensor: Any, taint: int) -> None:
        if not taint or not isinstance(tensor, torch.Tensor):
            return
        before = getattr(tensor, _MARK, None)
        if before is None and (id(tensor) in self._state or not self._stack):
            self._marked.append(tensor)
        setattr(tensor, _MARK, (before or 0) | taint)

    def _unmark(self) -> None:
        for tensor in self._marked:
            if hasattr(tensor, _MARK):
                delattr(tensor, _MARK)
        self._marked.clear()


_GRAD = 4
"""Taint bit: under inference mode nothing requires grad, so what would is followed by ourselves."""
_STATE = 8
"""Taint bit, where no input is a tensor: derived from parameters and buffers alone; all else is input."""


class _Dispatch(adapter.TorchDispatchMode):  # type: ignore[no-untyped-call]
    supports_higher_order_operators = True

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Spare the import of torch._dynamo (1.5 s) that guarding this handler against it would cost."""
        return False

    def __init__(self, recorder: Recorder) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._recorder = recorder

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return self._recorder.operation(func, args, kwargs or {})


class _Functions(adapter.TorchFunctionMode):
    def __init__(self, recorder: Recorder) -> None:
        super().__init__()
        self._recorder = recorder

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return self._recorder.function(func, args, kwargs or {})
