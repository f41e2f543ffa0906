"""New layers in a model that has weights: a head put on a pretrained backbone, and never trained."""

from __future__ import annotations

import re

from modellint.static.flow.state import State
from modellint.static.flow.touching import is_from_library, parts_with_weights
from modellint.static.flow.values import LOADED, MODEL, RANDOM, Obj, Site, Value
from modellint.static.project import ClassInfo
from modellint.static.weights import LEARNED

NEW_LAYER = "<new layer>"
"""The attribute of a model, as a forward shows it, that holds where a new layer in it was built, and how."""

WEIGHTS_IN_PARTS = "<weights in parts>"
"""The attribute of a model, as a forward shows it, whose weights came with parts that a library made."""

_PURE = frozenset({RANDOM})
_MAX_DEPTH = 4


def shown_with_parts(obj: Obj, state: State) -> Obj:
    """Return `obj` with a note of what its parts tell about its weights."""
    if obj.touched:
        return obj
    given = list(parts_with_weights(obj, state))
    if given:
        attrs = {**obj.attrs, WEIGHTS_IN_PARTS: Value()} if all(map(is_from_library, given)) else obj.attrs
        return obj._replace(attrs=attrs, touched=True)
    if obj.weights == frozenset({LOADED}):
        layer = _find(obj, state, 0)
        if layer is not None and layer.born is not None:
            note = Value(consts=frozenset({(layer.born, layer.how)}))
            return obj._replace(attrs={**obj.attrs, NEW_LAYER: note})
    return obj


def frozen_by_parts(obj: Obj, cls: ClassInfo, state: State) -> bool:
    """Tell whether every part of a model that learns is frozen, and its class has no parameters of its own."""
    parts = [state.heap[oid] for value in obj.attrs.values() for oid in value.refs]
    learning = [part for part in parts if part.kind == MODEL and not _has_no_parameters(part)]
    if not learning or not all(part.frozen for part in learning):
        return False
    return all({"Parameter", "register_parameter"}.isdisjoint(method.callees) for method in cls.methods.values())


def _has_no_parameters(part: Obj) -> bool:
    return isinstance(part.cls, str) and _WITHOUT_PARAMETERS.fullmatch(part.cls) is not None


_WITHOUT_PARAMETERS = re.compile(
    r"torch\.nn\.(\w*Dropout\w*|\w*LU6?|Softmax|LogSoftmax|Sigmoid|Tanh|Flatten|Identity|\w*Pool[123]d|Upsample|\w*Loss)"
)


def new_layer(obj: Obj) -> tuple[Site, str] | None:
    """Return where a layer was built that was put into a model with weights and got none itself, and how."""
    note = obj.attrs.get(NEW_LAYER)
    return None if note is None or note.consts is None else next(iter(note.consts))


def _find(obj: Obj, state: State, depth: int) -> Obj | None:
    for held in obj.attrs.values():
        found = [_new(state.heap[oid], state, depth) for oid in held.refs]
        if found and None not in found:
            return found[0]
    return None


def _new(part: Obj, state: State, depth: int) -> Obj | None:
    """Return the layer that learns and is new in `part`, None where there is none."""
    if part.touched or depth > _MAX_DEPTH:
        return None
    if not part.part and part.weights == _PURE and isinstance(part.cls, str) and part.cls.startswith("torch.nn."):
        if LEARNED.match(part.cls.rsplit(".", 1)[-1]):
            return part
    elif not part.part:
        return None
    return _find(part, state, depth + 1)
