"""Configurations that were found right are known again by what they say."""

from __future__ import annotations

from pathlib import Path

import pytest

from modellint.catalog.document import Document, Problem
from modellint.settings import Overrides, Resolver, documents


def active(folder: Path) -> set[str]:
    return {"ML101", "ML201"} & set(Resolver(Overrides()).for_folder(folder).rules)


@pytest.fixture
def configuration(tmp_path: Path) -> Path:
    path = tmp_path / ".modellint.yaml"
    path.write_text("ignore: [ML201]\n")
    return path


def test_what_was_found_right_is_not_judged_again(configuration: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = active(configuration.parent)
    monkeypatch.setattr(documents, "validate", lambda document, schema: pytest.fail("judged again"))
    assert active(configuration.parent) == first


def test_a_file_that_changes_while_it_is_judged(configuration: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was read before must not stand for what the file says now: an editor's server and a check meet here."""
    judge = documents.validate

    def overtaken(document: Document, schema: Path) -> list[Problem]:
        configuration.write_text("ignore: [ML101]\n")
        return judge(document, schema)

    monkeypatch.setattr(documents, "validate", overtaken)
    assert active(configuration.parent) == {"ML101"}
    monkeypatch.setattr(documents, "validate", judge)
    assert active(configuration.parent) == {"ML201"}
