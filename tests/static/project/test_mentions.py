"""The index of words answers as a search of every text would."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modellint.static.project.mentions import Mentions

TEXTS = {
    Path("a.py"): b"def evaluate(model):\n    return model(x)\n",
    Path("b.py"): b"from a import evaluate_all\nevaluate_all(my_model)\n",
    Path("c.py"): "größe = 'train-2.py'\n".encode(),
    Path("d.py"): b"",
}


def searched(texts: dict[Path, bytes], text: str) -> tuple[Path, ...]:
    return tuple(path for path, content in texts.items() if text.encode(errors="surrogateescape") in content)


def test_a_file_that_cannot_be_read_mentions_nothing() -> None:
    def read(path: Path) -> bytes:
        if path == Path("b.py"):
            raise OSError
        return TEXTS[path]

    assert Mentions(TEXTS, read).of("evaluate") == (Path("a.py"),)


@pytest.mark.parametrize("text", ["evaluate", "eval", "model", "größe", "train-2", "a import", "absent", "\udcff", ""])
def test_names_parts_of_names_and_names_with_other_signs_are_found(text: str) -> None:
    assert Mentions(TEXTS, TEXTS.__getitem__).of(text) == searched(TEXTS, text)


def test_a_text_that_an_editor_changed_counts_as_it_is_now() -> None:
    mentions = Mentions(TEXTS, TEXTS.__getitem__)
    mentions.replace(Path("a.py"), b"def predict(network): ...")
    assert mentions.of("evaluate") == (Path("b.py"),)
    assert mentions.of("predict") == (Path("a.py"),)
    assert Path("a.py") in mentions
    assert Path("z.py") not in mentions


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text("ab_- \nö", max_size=12), max_size=4), st.text("ab_- ö", max_size=4))
def test_it_agrees_with_a_search_of_the_texts(contents: list[str], text: str) -> None:
    texts = {Path(f"{number}.py"): content.encode() for number, content in enumerate(contents)}
    assert Mentions(texts, texts.__getitem__).of(text) == searched(texts, text)
