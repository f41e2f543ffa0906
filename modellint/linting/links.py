"""Which file's findings follow from which other files, and who has to be checked again when one of them changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from modellint.linting.engine import Consulted

Graph = dict[str, set[str]]
_BY_FILE = ("reads", "names", "judged", "shared", "traced")
_BY_WORD = ("words", "askers", "judges")


@dataclass(frozen=True, slots=True)
class Links:
    """The trails of a project by the names of files: see `modellint.static.project.trails`.

    `words` are those that were searched for, with the files that hold them. `tables` are digests of what looking up a
    name in a file goes by, and of its code.
    """

    reads: Graph = field(default_factory=dict)
    names: Graph = field(default_factory=dict)
    judged: Graph = field(default_factory=dict)
    shared: Graph = field(default_factory=dict)
    traced: Graph = field(default_factory=dict)
    words: Graph = field(default_factory=dict)
    askers: Graph = field(default_factory=dict)
    judges: Graph = field(default_factory=dict)
    tables: dict[str, str] = field(default_factory=dict)

    @classmethod
    def unpacked(cls, data: Mapping[str, Any], files: list[str]) -> Links:
        """Return what `packed` was given, where files were the numbers of `files`."""
        graphs: dict[str, Graph] = {}
        for name in (*_BY_FILE, *_BY_WORD):
            listed = [(files[key] if name in _BY_FILE else key, others) for key, others in data[name]]
            graphs[name] = {key: {files[n] for n in others} for key, others in listed}
        return cls(**graphs, tables=dict(data["tables"]))

    def packed(self, number: Mapping[str, int]) -> dict[str, Any]:
        """Return lists, texts and numbers for JSON; files are their `number`."""
        data: dict[str, Any] = {"tables": self.tables}
        for name in (*_BY_FILE, *_BY_WORD):
            graph: Graph = getattr(self, name)
            data[name] = [
                [number[key] if name in _BY_FILE else key, sorted(number[other] for other in others)]
                for key, others in graph.items()
            ]
        return data

    def files(self) -> set[str]:
        """Return every file that a link mentions."""
        graphs: list[Graph] = [getattr(self, name) for name in (*_BY_FILE, *_BY_WORD)]
        ends = {name for graph in graphs for others in graph.values() for name in others}
        return ends.union(*graphs[: len(_BY_FILE)])

    def follow(self, changed: Mapping[str, bytes], tables: Mapping[str, str]) -> set[str]:
        """Return the files whose findings may be other ones now that files have the contents `changed`.

        `tables` are the digests of names and code in these files. What was noted of the files concerned is forgotten.
        """
        renamed, code = set[str](), set[str]()
        for name in changed:
            old, new = (known.get(name, "").partition(" ") for known in (self.tables, tables))
            if old[0] != new[0]:
                renamed.add(name)
            if not new[2] or old[2] != new[2]:  # no program: whatever it is, it is another one
                code.add(name)
        renamed |= _reaching(renamed, self.names)
        code |= renamed
        code |= _reaching(code, self.reads)
        callees, report = set(code), code | changed.keys()
        for name, text in changed.items():
            for word, holders in self.words.items() if name.endswith(".py") else ():
                if (name in holders) != (word.encode(errors="surrogateescape") in text):
                    holders ^= {name}
                    callees |= self.askers.get(word, set())
                    report |= self.judges.get(word, set())
        for graph, void in ((self.judged, code), (self.traced, callees)):
            report |= {name for name, others in graph.items() if not others.isdisjoint(void)}
        report |= _reaching(report, self.shared)
        self._forget(renamed, code, report)
        self.tables.update(tables)
        return report

    def _forget(self, renamed: set[str], code: set[str], report: set[str]) -> None:
        """Drop what was noted of files whose names, code or reports are to be worked out again."""
        told = ((graph, report) for graph in (self.judged, self.shared, self.traced))
        for graph, void in ((self.names, renamed), (self.reads, code), *told):
            for name in void & graph.keys():
                del graph[name]
        touched = set[str]().union(*self.traced.values())
        for asked, kept in ((self.askers, touched.__contains__), (self.judges, lambda name: name not in report)):
            for word in list(asked):
                asked[word] = set(filter(kept, asked[word]))
                if not asked[word]:
                    del asked[word]
        for word in self.words.keys() - self.askers.keys() - self.judges.keys():
            del self.words[word]

    @classmethod
    def of(cls, consulted: Consulted) -> Links:
        """Return the links of a run."""
        words = {word: set(map(str, paths)) for word, paths in consulted.words.items()}
        links = cls(words=words, tables=dict(consulted.tables))
        for trails in consulted.trails:
            for name in (*_BY_FILE, "askers", "judges"):
                graph: Graph = getattr(links, name)
                for key, paths in getattr(trails, name).items():
                    graph.setdefault(str(key), set()).update(map(str, paths))
        return links

    def joined(self, newer: Links) -> Links:
        """Return these links with `newer` ones."""
        graphs: dict[str, Graph] = {}
        for name in (*_BY_FILE, "askers", "judges"):
            graph: Graph = {key: set(paths) for key, paths in getattr(self, name).items()}
            for key, paths in getattr(newer, name).items():
                graph.setdefault(key, set()).update(paths)
            graphs[name] = graph
        return Links(
            words={**self.words, **newer.words},
            tables={**self.tables, **newer.tables},
            **graphs,
        )


def _reaching(wanted: Iterable[str], *graphs: Graph) -> set[str]:
    """Return the files from which the ways of `graphs` lead to one of `wanted`."""
    backwards: dict[str, list[str]] = {}
    for graph in graphs:
        for name, others in graph.items():
            for other in others:
                backwards.setdefault(other, []).append(name)
    queue, found = list(wanted), set[str]()
    while queue:
        new = set(backwards.get(queue.pop(), ())) - found
        found |= new
        queue += new
    return found
