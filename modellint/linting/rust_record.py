"""What a run found in Rust files, kept for the next one.

A crate and its workspace are read as a whole, so the findings hold together: as long as every file that was read or
looked for is the same, and no Rust file and no member of a workspace came or went.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from modellint.linting.engine import Surveyed
from modellint.linting.notes import Noted
from modellint.linting.record import Record
from modellint.linting.states import State, digest_of_names, is_overtaken, looked_at_again, state_of
from modellint.linting.store import Store
from modellint.sources.projects import rust_files


class RustRecord(Record):
    """The record of the Rust files of the project at `root`."""

    def __init__(self, root: Path, store: Store) -> None:
        self._states: dict[str, State] = {}
        self._listings: dict[str, str] = {}
        super().__init__(root, store)

    def _take(self, data: dict[str, Any]) -> None:
        """Take over a record if all of it still holds."""
        states, listings = data["states"], data["listings"]
        for name, old in states.items():
            if looked_at_again(name, old, data["taken"])[0][2:] != old[2:]:
                return
        if all(digest_of_names(_listed(listing)) == known for listing, known in listings.items()):
            self._states, self._listings, self._stored = states, listings, data["findings"]

    def compose(self, read: Mapping[str, State], noted: Iterable[Noted]) -> dict[str, Any] | None:
        """Return the record of what was added, None where there is nothing to keep or something to keep nothing for."""
        if not self._fresh or self._fresh.keys() - read.keys() or self._is_homeless:
            return None
        noted = list(noted)
        states = {**self._states, **{name: state for name, state in read.items() if name.endswith(".rs")}}
        looked_for = {str(path) for one in noted for path in one.surveyed.files} - states.keys()
        listings = {listing: _listed(listing) for one in noted for listing in _listings(one.surveyed)}
        folders = {folder for listing, names in listings.items() for folder in _folders(listing, names)}
        if any(is_overtaken(place, self._started) for place in looked_for | folders):
            return None
        return {
            "taken": self._started,
            "states": {**states, **{name: state_of(Path(name)) for name in sorted(looked_for)}},
            "listings": {**self._listings, **{key: digest_of_names(names) for key, names in listings.items()}},
            "findings": self._together(self._fresh),
        }


def _listings(survey: Surveyed) -> set[str]:
    """Return what was looked up in folders: a folder and a pattern in two lines, none for all Rust files below."""
    return {f"{folder}\n{pattern}" for folder, pattern in {(folder, "") for folder in survey.folders} | survey.patterns}


def _listed(listing: str) -> list[str]:
    """Return the paths that are found there now."""
    folder, pattern = listing.rsplit("\n", 1)
    return sorted(map(str, Path(folder).glob(pattern) if pattern else rust_files(Path(folder))))


def _folders(listing: str, names: list[str]) -> set[str]:
    """Return the folders in which `names` were found, with those around them."""
    top = Path(listing.rsplit("\n", 1)[0])
    return {str(top)} | {str(above) for name in names for above in Path(name).parents if top in above.parents}
