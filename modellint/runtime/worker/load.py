"""Import the target in the child and get the model out of it, in the state in which the user's code leaves it."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import inspect
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from torch import nn

from modellint.runtime.capture.sites import SiteTable, definition
from modellint.runtime.target import Target
from modellint.runtime.trace import Frame


class LoadProblem(Exception):
    """The target is not what it should be; the message is one line that says what was found instead."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A model, the module that its target lives in, and where that target is defined."""

    model: nn.Module
    module: ModuleType
    home: Frame
    notes: tuple[str, ...]


def project_roots(target: Target, cwd: Path) -> tuple[Path, ...]:
    """Return the folders whose files are the user's own."""
    if target.file is None:
        return (cwd,)
    return (cwd, _package_root(target.file)[0])


def _package_root(file: Path) -> tuple[Path, str]:
    """Return (folder to import from, dotted name) of a file that may lie inside a package."""
    parts = [file.stem] if file.stem != "__init__" else []
    folder = file.parent
    while (folder / "__init__.py").is_file() and folder.name.isidentifier():
        parts.insert(0, folder.name)
        folder = folder.parent
    return folder, ".".join(parts)


@contextmanager
def noting_construction(sites: SiteTable, built: dict[int, int | None], alive: list[Any]) -> Iterator[None]:
    """Note where each module is constructed: the only line there is for a model without code of its own."""
    original = nn.Module.__init__

    def init(self: nn.Module, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        built[id(self)] = sites.constructed(sys._getframe(1), self)
        # Held, so that another module cannot be given the same id while the table is in use.
        alive.append(self)

    nn.Module.__init__ = init  # type: ignore[method-assign]
    try:
        yield
    finally:
        nn.Module.__init__ = original  # type: ignore[method-assign]


def load(target: Target, mode: str, cwd: Path, stage: list[str]) -> Loaded:
    """Import the target's module and produce the model.

    `stage[0]` is kept saying what is being done. Raises `LoadProblem`, and whatever the user's own code raises.
    """
    module = _import(target, cwd)
    value = _lookup(module, target)
    fallback = target.file or Path(module.__file__ or target.text)
    home = definition(value, fallback)
    notes: list[str] = []
    if isinstance(value, nn.Module):
        model = value
        home = _assignment(module, target, fallback) or definition(type(value), fallback)
    elif inspect.isclass(value) and issubclass(value, nn.Module):
        _check_callable(value, target, "class")
        stage[0] = f"{target.name}()"
        model = value()
        if mode == "as-is":
            model.eval()
            notes.append(f"{target.text}: the class was constructed by modellint and put into eval mode")
    elif callable(value):
        _check_callable(value, target, "function" if inspect.isroutine(value) else type(value).__name__)
        stage[0] = f"{target.name}()"
        model = _unwrap(value(), target)
    else:
        raise LoadProblem(
            f"{target.text}: {target.name} is {_a(type(value).__name__)}, not a torch.nn.Module, a class or a factory"
        )
    if mode in ("eval", "train"):
        model.train(mode == "train")
    return Loaded(model, module, home, tuple(notes))


def load_again(target: Target, mode: str, cwd: Path, first: Loaded) -> nn.Module:
    """Make the model once more: the file is run again where it can be, else the factory is called again.

    Raises `LoadProblem`, and whatever the user's own code raises.
    """
    before = sys.modules.get(first.module.__name__)
    try:
        return load(target, mode, cwd, [""]).model
    except Exception:
        # A file that registers something cannot be run twice.
        value = _lookup(first.module, target)
        if isinstance(value, nn.Module):
            raise
        model = _unwrap(value(), target)
        if inspect.isclass(value) and mode == "as-is":
            model.eval()
        return model if mode == "as-is" else model.train(mode == "train")
    finally:
        if before is not None:
            sys.modules[first.module.__name__] = before


def lookup(target: Target, cwd: Path) -> Any:
    """Import the target's module and return what the target names. Raises `LoadProblem`, and what the import raises."""
    return _lookup(_import(target, cwd), target)


def _import(target: Target, cwd: Path) -> ModuleType:
    if target.file is None:
        assert target.module is not None
        sys.path.insert(0, str(cwd))
        try:
            return importlib.import_module(target.module)
        except ModuleNotFoundError as error:
            if error.name and (target.module == error.name or target.module.startswith(error.name + ".")):
                raise LoadProblem(f"{target.text}: there is no module {error.name}") from None
            raise
    root, name = _package_root(target.file)
    sys.path[:0] = [str(root), str(cwd)]
    if "." in name:
        return importlib.import_module(name)
    if not name.isidentifier() or name in sys.modules or name in sys.stdlib_module_names:
        name = "modellint_target_" + "".join(c if c.isalnum() else "_" for c in target.file.stem)
    spec = importlib.util.spec_from_file_location(name, target.file)
    if spec is None or spec.loader is None:
        raise LoadProblem(f"{target.text}: {target.file.name} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _lookup(module: ModuleType, target: Target) -> Any:
    value: Any = module
    for part in target.name.split("."):
        try:
            value = getattr(value, part)
        except AttributeError:
            candidates = _candidates(module if value is module else value, module)
            close = difflib.get_close_matches(part, candidates, 3, 0.5) or candidates[:5]
            there = f"; there is {', '.join(close)}" if close else ""
            owner = module.__name__ if value is module else type(value).__name__
            raise LoadProblem(f"{target.text}: {owner} has no {part!r}{there}") from None
    return value


def _candidates(owner: Any, module: ModuleType) -> list[str]:
    """Return the names that could have been meant: modules, module classes and functions defined here."""
    found = []
    for name in dir(owner):
        try:
            value = getattr(owner, name)
        except Exception:
            continue
        is_model = isinstance(value, nn.Module) or (inspect.isclass(value) and issubclass(value, nn.Module))
        if not name.startswith("_") and (
            is_model or (inspect.isfunction(value) and value.__module__ == module.__name__)
        ):
            found.append(name)
    return found


def _check_callable(value: Any, target: Target, kind: str) -> None:
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return
    missing = [
        parameter.name
        for parameter in signature.parameters.values()
        if parameter.default is parameter.empty
        and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    ]
    if missing:
        shown = str(signature).split(" -> ")[0]
        raise LoadProblem(
            f"{target.text}: the {kind} {target.name}{shown} needs {_list(missing)}; "
            "name a function without arguments that returns the model"
        )


def _unwrap(value: Any, target: Target) -> nn.Module:
    if isinstance(value, nn.Module):
        return value
    inside = [item for item in value if isinstance(item, nn.Module)] if isinstance(value, (tuple, list)) else []
    if len(inside) == 1:
        return inside[0]
    raise LoadProblem(f"{target.text}: {target.name}() returned {_a(type(value).__name__)}, not a torch.nn.Module")


def _assignment(module: ModuleType, target: Target, fallback: Path) -> Frame | None:
    """Return the line that assigns a module-level instance."""
    try:
        lines = inspect.getsource(module).splitlines()
    except (OSError, TypeError):
        return None
    name = target.name.split(".")[0]
    for row, line in reversed(list(enumerate(lines, 1))):
        if line.startswith(name) and line[len(name) :].lstrip().startswith(("=", ":")):
            return Frame(str(Path(module.__file__ or fallback).resolve()), row, row, None, "")
    return None


def _a(noun: str) -> str:
    return "None" if noun == "NoneType" else f"an {noun}" if noun[:1] in "aeiouAEIOU" else f"a {noun}"


def _list(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
