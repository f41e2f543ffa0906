"""From a file to a trace: choose the reader by what the file is. Torch is imported by the readers that need it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from modellint.runtime.artefacts import exported, onnx_file
from modellint.runtime.artefacts.archive import is_scripted
from modellint.runtime.artefacts.common import ArtefactProblem, Contents, WrittenSites, one_line
from modellint.runtime.target import Target
from modellint.runtime.trace import Frame, Level, Trace, to_json


def read_artefact(target: Target, cwd: Path, probes: Sequence[str]) -> dict[str, Any]:
    """Return the reply to a job: `trace`, or `problem` with one line why the file is not read."""
    assert target.file is not None
    sites = WrittenSites((cwd, target.file.parent))
    try:
        level, contents = _read(target.file, sites)
    except ArtefactProblem as problem:
        return {"problem": str(problem).replace(str(target.file), target.text)}
    except OSError as error:
        return {"problem": f"{target.text}: cannot be read: {error.strerror or error}"}
    except MemoryError:
        return {"problem": f"{target.text}: is too large to be read in the memory at hand (--memory)"}
    except RecursionError as error:
        return {"problem": f"{target.text}: is damaged: {one_line(error)}"}
    notes = [note.replace(str(target.file), target.text) for note in contents.notes]
    if probes:
        notes.append(f"{target.text}: is read and not run, so there are no probes")
    trace = Trace(
        target=target.text,
        home=Frame(str(target.file), 1, 1, None, ""),
        torch_version=_torch_version(),
        device="cpu",
        root_training=contents.training,
        levels=(Level(level, True),),
        modules=contents.modules,
        ops=contents.ops,
        sites=sites.sites,
        batch=contents.batch,
        notes=tuple(notes),
    )
    return {"trace": to_json(trace)}


def _read(path: Path, sites: WrittenSites) -> tuple[str, Contents]:
    if path.suffix == ".onnx":
        return onnx_file.LEVEL, onnx_file.read(path, sites)
    if path.suffix == ".pt2":
        return exported.LEVEL, exported.read(path, sites)
    if path.suffix != ".safetensors" and is_scripted(path):
        from modellint.runtime.artefacts import scripted

        return scripted.LEVEL, scripted.read(path, sites)
    from modellint.runtime.artefacts import weights

    return weights.LEVEL, weights.read(path)


def _torch_version() -> str:
    torch = sys.modules.get("torch")
    return str(torch.__version__) if torch is not None else ""
