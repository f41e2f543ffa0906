"""What the analysis of a file found before an edit: it holds for functions where nothing that it follows from changed.

What is seen from a starting point follows from its code and that of the definitions of the file that can be reached by
the names in it, from the globals that these names mean, and from what earlier starting points have covered. Nothing
else of the file can be reached; and of other files nothing has changed, or all is forgotten. Where that cannot be told
apart, the starting point is run again.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from modellint.static.flow.alternatives import constructors_beside
from modellint.static.flow.events import Event
from modellint.static.flow.leaving import Base, left_by
from modellint.static.flow.moving import Gone, Mover
from modellint.static.flow.state import State
from modellint.static.flow.watching import Watch
from modellint.static.project import ClassInfo, FunctionInfo, ModuleInfo, Project
from modellint.static.project.adopting import Shifts, statements

if TYPE_CHECKING:
    from modellint.static.flow.machine import Machine

Definition: TypeAlias = "FunctionInfo | ClassInfo"
Root: TypeAlias = "tuple[FunctionInfo, ClassInfo | None]"
_Key: TypeAlias = "tuple[Path, frozenset[str] | None]"
_WORD = re.compile(r"\w+")


@dataclass(slots=True)
class Seen:
    """What was seen from a starting point, and what that follows from."""

    follows: Hashable
    words: frozenset[str]
    base: Base
    before: Hashable
    events: list[Event]
    called: frozenset[FunctionInfo]
    covered: tuple[FunctionInfo, ...]


@dataclass(slots=True)
class _Definition:
    """A function or class at the top of the file."""

    text: str
    functions: list[FunctionInfo] = field(default_factory=list)
    classes: list[ClassInfo] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Reach:
    """What can be reached from a definition by the names in it."""

    follows: Hashable
    words: frozenset[str]
    functions: frozenset[FunctionInfo]


class Memory:
    """What is known of one file over its versions."""

    def __init__(self, module: ModuleInfo) -> None:
        self.module = module
        self._seen: dict[Root, Seen] = {}
        self._numbers: dict[Hashable, int] = {}
        self._words: dict[str, frozenset[str]] = {}
        self._definitions: list[_Definition] = []
        self._firsts: list[int] = []
        self._homes: dict[str, set[int]] = {}
        self._reaches: dict[frozenset[int], _Reach] = {}
        self._base: Base | None = None
        self._functions: frozenset[FunctionInfo] = frozenset()
        self._strangers: set[ModuleInfo] = set()

    def stands_alone(self, project: Project) -> bool:
        """Tell whether no other file that was read names this one: what is called there does not lead back here."""
        stem = self.module.path.stem
        if stem.startswith("__"):
            return False
        for other in project.files.loaded:
            if other is not self.module and other not in self._strangers:
                if stem in other.text:
                    return False
                self._strangers.add(other)
        return True

    def follow(self, module: ModuleInfo, shifts: Shifts) -> None:
        """Go on with the next version of the file, which has adopted what stayed."""
        functions, classes = set(module.functions), set(module.classes)
        path, mover = module.path, Mover(self.module, module, shifts)
        self.module = module
        self._seen = {
            (function, cls): seen
            for (function, cls), seen in self._seen.items()
            if (function.module.path != path or function in functions)
            and (cls is None or cls.module.path != path or cls in classes)
        }
        if shifts.any or not shifts.by:
            self._shift(mover)
        numbers: dict[Hashable, int] = {}
        for key, number in self._numbers.items():
            with suppress(Gone):
                numbers[mover.key(key)] = number
        self._numbers = numbers

    def _shift(self, mover: Mover) -> None:
        for root, seen in list(self._seen.items()):
            try:
                for event in seen.events:
                    mover.event(event)
            except Gone:
                del self._seen[root]
        for base in {id(seen.base): seen.base for seen in self._seen.values()}.values():
            mover.base(base)

    # -- one run -------------------------------------------------------------------------------------------

    def begin(self, machine: Machine) -> None:
        """Let `machine` give shared objects the numbers that they had."""
        machine.recorder = Watch()
        machine.seed(self._numbers)
        self._base = None
        self._functions = frozenset(self.module.functions)

    def start(self, machine: Machine, base: State) -> None:
        """Take notice of what the top level left."""
        watch = machine.recorder
        assert isinstance(watch, Watch)
        watch.shared = len(watch.events)
        self._base = left_by(machine, base, self.module)
        self._reaches = {}
        self._find_definitions()

    def recall(self, machine: Machine, root: Root) -> bool:
        """Take over what was seen from `root`; return whether that could be done."""
        seen, watch = self._seen.get(root), machine.recorder
        if seen is None or not self._holds(seen, machine, root):
            return False
        assert isinstance(watch, Watch)
        watch.replay(seen.events)
        machine.called |= seen.called
        machine.covered.update(dict.fromkeys(seen.covered))
        return True

    def _holds(self, seen: Seen, machine: Machine, root: Root) -> bool:
        reach, base = self._reach(root), self._base
        if base is None or reach.follows != seen.follows or self._before(machine, root, reach) != seen.before:
            return False
        old = seen.base
        if old is base:
            return True
        return (
            old.grad == base.grad
            and old.rest == base.rest
            and all(
                old.names.get(name) == base.names.get(name)
                for name in seen.words
                if name in old.names or name in base.names
            )
            and all(
                old.classes.get(cls) == base.classes.get(cls)
                for cls in old.classes.keys() | base.classes.keys()
                if cls.name in seen.words
            )
        )

    def watched(self, machine: Machine, root: Root, run: Callable[[], None]) -> None:
        """Run a starting point, and keep what was seen from it."""
        watch, reach = machine.recorder, self._reach(root)
        assert isinstance(watch, Watch)
        before = self._before(machine, root, reach)
        called, covered, loaded = set(machine.called), len(machine.covered), machine.loaded
        watch.begin()
        run()
        self._seen.pop(root, None)
        events = watch.events[watch.floor :]
        # `machine.loaded`: what has first asked for another module has run it on its own budget
        if not watch.alone or machine.loaded != loaded or machine.escaped or self._base is None:
            return
        if not all(map(self._is_own, events)) or any(e.source is not None and e.source not in events for e in events):
            return
        self._seen[root] = Seen(
            reach.follows,
            reach.words,
            self._base,
            before,
            events,
            frozenset(machine.called - called),
            tuple(list(machine.covered)[covered:]),
        )

    def finish(self, machine: Machine) -> None:
        """Remember the numbers of objects that the top level left, or that something happened to."""
        if self._base is None:
            return
        used = {event.key.oid for seen in self._seen.values() for event in seen.events}
        used.update(number for number, _ in self._base.rest)
        for names in (self._base.names, *self._base.classes.values()):
            used.update(oid for known in names.values() if isinstance(known, tuple) for oid in known[1])
        keys, self._numbers = machine.keys(), {}
        while used:
            number = used.pop()
            key = keys.get(number)
            if key is None or key in self._numbers:
                continue
            self._numbers[key] = number
            if isinstance(key, tuple) and not isinstance(key[0], Path):  # made from other objects
                used.update(part for part in key if type(part) is int)

    def _is_own(self, event: Event) -> bool:
        """Tell whether the functions of this file on the way to an event are ones that stay."""
        around = (event.function, *(f for step in event.key.chain for f in (step.caller, step.callee)))
        path = self.module.path
        return all(f.module.path != path or f in self._functions for f in around)

    # -- what follows from what ----------------------------------------------------------------------------

    def _before(self, machine: Machine, root: Root, reach: _Reach) -> Hashable:
        """Return what was known when a starting point begins, of that which can change what is seen from it."""
        near = reach.functions | frozenset(root[0].nested)
        return near & machine.called, near & machine.covered.keys(), machine.loaded

    def _reach(self, root: Root) -> _Reach:
        places = frozenset(self._places(part for part in root if part is not None))
        if places not in self._reaches:
            self._reaches[places] = self._find_reach(set(places))
        return self._reaches[places]

    def _place(self, part: Definition) -> int:
        """Return the number of the definition in which a function or class of this file stands, -1 for none."""
        if part.module.path != self.module.path:
            return -1
        return bisect_right(self._firsts, part.row) - 1

    def _find_definitions(self) -> None:
        """Find the top-level statements with definitions in them."""
        module, base = self.module, self._base
        assert base is not None
        parts = statements(module)
        firsts = [part.first for part in parts]
        found: dict[int, _Definition] = {}
        items: list[Definition] = [*module.functions, *module.classes]
        for item in items:
            at = bisect_right(firsts, item.row) - 1
            definition = found.setdefault(at, _Definition(parts[at].text))
            if isinstance(item, ClassInfo):
                definition.classes.append(item)
            else:
                definition.functions.append(item)
        self._definitions = [found[at] for at in sorted(found)]
        self._firsts = [parts[at].first for at in sorted(found)]
        self._homes = {}
        for name, part in chain[tuple[str, Definition]](module.body.functions.items(), module.body.classes.items()):
            self._homes.setdefault(name, set()).add(self._place(part))
        for home, code in base.code.items():
            if isinstance(home, str):
                self._homes.setdefault(home, set()).update(self._places(code))

    def _find_reach(self, queue: set[int]) -> _Reach:
        module, definitions, base = self.module, self._definitions, self._base
        assert base is not None
        queue |= self._places(base.code.get(None, ()))
        words: set[str] = set()
        reached: set[int] = set()
        while queue:
            at = queue.pop()
            if at in reached:
                continue
            reached.add(at)
            for cls in definitions[at].classes:
                queue |= self._places(base.code.get(cls, ()))
                queue |= self._places(constructors_beside(cls))
            fresh = set(self._words_of(definitions[at].text) - words)
            while fresh:
                words |= fresh
                for name in fresh & self._homes.keys():
                    queue |= self._homes[name]
                aliases = (module.aliases[name] for name in fresh & module.aliases.keys())
                fresh = {word for alias in aliases for word in alias.split(".")} - words
        follows = (
            tuple(definitions[at].text for at in sorted(reached)),
            frozenset((name, module.imports[name]) for name in words & module.imports.keys()),
            frozenset((name, module.aliases[name]) for name in words & module.aliases.keys()),
            frozenset(words & module.body.stores),
            tuple(module.stars),
        )
        functions = frozenset(f for at in reached for f in definitions[at].functions)
        return _Reach(follows, frozenset(words), functions)

    def _places(self, parts: Iterable[Definition]) -> set[int]:
        return {place for part in parts if (place := self._place(part)) >= 0}

    def _words_of(self, text: str) -> frozenset[str]:
        if text not in self._words:
            self._words[text] = frozenset(_WORD.findall(text))
        return self._words[text]


class Memories:
    """What is known of the files of a project over their versions; nothing else of the project may have changed."""

    def __init__(self, project: Project) -> None:
        project.files.watch_edits()
        self._project = project
        self._known: dict[_Key, Memory] = {}

    def follow(self) -> None:
        """Take notice of the edits since the last time."""
        edits = self._project.files.take_edits()
        for path, module, shifts in edits:
            for key in [key for key in self._known if key[0] == path]:
                if module is None or shifts is None:
                    del self._known[key]
                else:
                    self._known[key].follow(module, shifts)
        edited = {path for path, _, _ in edits}
        self._known = {key: memory for key, memory in self._known.items() if edited == {key[0]}} if edited else {}

    def of(self, module: ModuleInfo, names: frozenset[str] | None = None) -> Memory | None:
        """Return what is known of a file, or of its functions that call `names`; None where others may lead back."""
        key = module.path, names
        memory = self._known.get(key)
        if memory is None or memory.module is not module:
            memory = self._known[key] = Memory(module)
        if not module.registers and memory.stands_alone(self._project):
            return memory
        del self._known[key]
        return None
