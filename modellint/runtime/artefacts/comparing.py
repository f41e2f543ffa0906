"""A file beside the model that it was made of: what an exporter switched off without a word.

The older exporter to ONNX puts the model into evaluation mode unless it is told otherwise, and the newer one writes a
batch norm in training mode as one with running statistics. The file alone is then fine, and computes something else.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set

from modellint.runtime.trace import INPUT, Op, Trace


def differences(file: Trace, models: Sequence[Trace]) -> Iterator[str]:
    """Yield one line for each kind of thing that a model in `models` does and the file that holds it does not.

    A file holds a model where all modules that it names are modules of that model.
    """
    written = [op for op in file.ops if op.within is None]
    named = {fact.path for fact in file.modules}
    for model in models:
        recorded = [op for op in model.ops if op.level == "record" and op.within is None]
        if not written or not recorded or not named <= {fact.path for fact in model.modules}:
            continue
        switched = {_module(op) for op in recorded if _trains(op)} & {_module(op) for op in written if _is_norm(op)}
        switched -= {_module(op) for op in written if _trains(op)}
        if switched := {module for module in switched if not _told(module, file)}:
            yield (
                f"{file.target}: batch norms that use batch statistics in {model.target} use running statistics here "
                f"({_list(switched)}): the file does not compute what the model computes"
            )
        live = {_module(op): op.base for op in recorded if op.live}
        kept = {_module(op) for op in written if op.live}
        if kept <= live.keys() and (lost := live.keys() - kept):
            yield (
                f"{file.target}: {_words({live[module] for module in lost})} in {model.target} "
                f"is not random here ({_list(lost)}): the file does not compute what the model computes"
            )


def _module(op: Op) -> str:
    return op.module or ""


def _is_norm(op: Op) -> bool:
    return "batch_norm" in op.base


def _trains(op: Op) -> bool:
    return _is_norm(op) and bool(op.args.get("training")) and bool(op.taint & INPUT)


def _told(module: str, file: Trace) -> bool:
    """Tell whether the file itself says that this norm was switched: its reader has then made a note of it."""
    name = module or "the model itself"
    return any(name in note.partition("(")[2].partition(")")[0].split(", ") for note in file.notes)


def _words(names: Set[str]) -> str:
    return ", ".join(sorted(names))


def _list(modules: Set[str]) -> str:
    return ", ".join(sorted(module or "the model itself" for module in modules))
