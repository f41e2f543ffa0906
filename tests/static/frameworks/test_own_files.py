"""Files of one's own about in-house libraries, as the documentation shows them."""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import dedent

import pytest
import yaml

from modellint.catalog import ActiveRule, DocumentError, load_frameworks, load_rules
from modellint.catalog.framework import collect
from modellint.sources import read_source
from modellint.static import Analyzer

DOCS = Path(__file__).resolve().parents[3] / "docs" / "frameworks.md"
HEAD = "name: zoo\nroots: [zoo]\nabout: Ours.\n"
LOADER = HEAD + "loaders:\n  - calls: [zoo.a]\n    mode: eval\n    weights: loaded\n"


def blocks() -> list[str]:
    """Return the indented blocks of the documentation."""
    return [dedent(block) for block in re.findall(r"(?:^    .*\n(?:\n(?=    ))?)+", DOCS.read_text("utf-8"), re.M)]


def found(root: Path, own: str, text: str) -> list[tuple[str, int]]:
    """Return the codes and lines found in `text` with the library `own` known."""
    (root / "zoo.yaml").write_text(own, encoding="utf-8")
    path = root / "app.py"
    path.write_text(dedent(text), encoding="utf-8")
    rules = {code: ActiveRule.default(load_rules()[code]) for code in ("ML101", "ML201")}
    frameworks = (*load_frameworks(), *collect([root / "zoo.yaml"]))
    return [(d.code, d.span.start.row) for d in Analyzer(rules, frameworks, root).check(read_source(path))]


def test_the_six_lines_of_the_documentation(tmp_path: Path) -> None:
    own = blocks()[0]
    assert len(own.strip().splitlines()) == 6
    script = """
        import torch
        import zoo

        def predict(x):
            right, wrong = zoo.load_resnet("a"), zoo.build_resnet("a")
            wrong.load_state_dict(torch.load("a.pt", weights_only=True))
            with torch.no_grad():
                right(x).argmax(-1)
                return wrong(x).argmax(-1)
    """
    assert found(tmp_path, own, script) == [("ML101", 10)]


def test_the_other_examples_of_the_documentation(tmp_path: Path) -> None:
    own = HEAD + "loaders: [{calls: [zoo.build], mode: train, weights: random}]\n" + blocks()[-1]
    script = """
        import torch
        import zoo

        def predict(x):
            net = zoo.build()
            zoo.load_checkpoint(net, "a.pt")
            with zoo.frozen(net):
                net(x).argmax(-1)
            net.embed(x).argmax(-1)
            with torch.no_grad():
                return net(x).argmax(-1)

        class Own(zoo.Task):
            def valid_step(self, net, x):
                return net(x).argmax(-1)
    """
    assert found(tmp_path, own, script) == [("ML101", 10)]


@pytest.mark.parametrize("block", [b for b in blocks() if b.startswith(("name:", "loaders:", "entry-points:"))])
def test_every_example_of_the_documentation_is_valid(tmp_path: Path, block: str) -> None:
    path = tmp_path / "zoo.yaml"
    path.write_text(block if block.startswith("name:") else HEAD + block, encoding="utf-8")
    assert collect([path])[0].name == "zoo"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (HEAD + "loaders:\n  - calls: [zoo.load]\n    mode: evall\n    weights: loaded\n", "6: loaders[0].mode: "),
        (HEAD + "loaders:\n  - calls: [zoo.load]\n    mode: eval\n", "5: loaders[0]"),
        (HEAD + "loader: []\n", "4: loader"),
        (HEAD + "contexts:\n  - calls: [zoo.frozen]\n    grad: off\n", "6: contexts[0].grad: "),
        (LOADER + "    when:\n      - {is: 1, mode: train}\n", "9: loaders[0].when[0]"),
        (
            LOADER + "    when:\n      - {argument: x, is: 1}\n",
            "9: loaders[0].when[0]: says nothing with argument, is alone; give one of position, mode",
        ),
        (LOADER + "    versions: banana\n", "8: loaders[0].versions: 'banana' does not match "),
        ("name: zoo\nroots: []\nabout: x\n", "2: roots"),
        ("- a\n", "1: "),
        ("", "1: "),
    ],
)
def test_errors_name_file_line_and_key(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "zoo.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DocumentError) as caught:
        collect([path])
    assert f"{path}:{problem}" in str(caught.value)


def test_the_sections_and_keys_of_the_documentation_are_those_of_the_schema() -> None:
    from modellint.catalog.framework import SCHEMA

    schema = yaml.safe_load(SCHEMA.read_text("utf-8"))["properties"]
    sections = {name for name in schema if name not in ("name", "roots", "about")}
    text = DOCS.read_text("utf-8")
    first = re.findall(r"^\| (`[^|]+) \|", text, re.M)
    listed = {word for cell in first for word in re.findall(r"`([\w-]+)`", cell)}
    keys = {key for name in sections - {"modules"} for key in schema[name]["items"]["properties"]}
    assert sections <= listed
    assert keys - {"calls", "except", "bases", "methods"} <= listed
