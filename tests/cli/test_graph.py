"""`modellint trace --graph`: what the pictures show, read as text and looked at in a browser."""

from __future__ import annotations

import html
import re
import shutil
import subprocess
import xml.etree.ElementTree
from pathlib import Path
from urllib.parse import unquote

import pytest

from tests.cli.conftest import Run

pytestmark = pytest.mark.torch
pytest.importorskip("torch")

MODEL = """\
from torch import nn


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(4)
        self.fc = nn.Linear(4, 4)
        self.act = nn.ReLU()
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        x = self.norm(x)
        x = self.act(self.fc(x))
        return self.drop(x)


def clean():
    return nn.Sequential(*(nn.Sequential(*(Block() for _ in range(20))) for _ in range(10))).eval()


def build():
    model = clean()
    model[3][7].drop.train()
    model[6][2].norm.train()
    return model
"""
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
_SEARCH = """
<script>addEventListener('load',()=>{const box=document.querySelector('input');box.value='ML602';
box.dispatchEvent(new Event('input'));document.title=[...document.querySelectorAll('li')].filter(
li=>li.checkVisibility()).length+' shown, '+document.querySelector('#said').textContent})</script>
"""


@pytest.fixture
def folder(project: Path) -> Path:
    (project / "model.py").write_text(MODEL)
    return project


def _drawn(run: Run, folder: Path, factory: str, name: str) -> str:
    run("trace", f"model.py:{factory}", "--input", "float32[4,4]", "--graph", name)
    return (folder / name).read_text(encoding="utf-8")


def _dom(file: Path) -> str:
    assert BROWSER is not None
    command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", file.as_uri()]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout


def test_a_clean_model_has_no_mark(folder: Path, run: Run) -> None:
    text = _drawn(run, folder, "clean", "out.svg")

    assert "ML6" not in text
    assert ">train<" not in text
    assert "1,011 modules" in text


def test_a_drawing_of_a_thousand_modules_shows_the_two_that_matter(folder: Path, run: Run) -> None:
    text = _drawn(run, folder, "build", "out.svg")
    root = xml.etree.ElementTree.fromstring(text)
    words = [node.text or "" for node in root.iter("{http://www.w3.org/2000/svg}text")]

    assert "ML601 active-dropout (model.py:15)" in words
    assert "ML602 batch-dependent-norm (model.py:13)" in words
    assert words.count("train") == 2
    assert "random: dropout" in words
    assert "batch statistics" in words
    assert len([line for line in words if "modules without findings" in line]) < 20
    assert len(words) < 60


def test_a_page_fetches_nothing(folder: Path, run: Run) -> None:
    text = _drawn(run, folder, "build", "out.html")

    assert not re.search(r'(?:src|url)\s*[=(]|href\s*=(?!"#)', text)
    assert text.count("<li ") == 1011


def test_a_page_is_open_where_something_was_found(folder: Path, run: Run) -> None:
    text = _drawn(run, folder, "build", "out.html")

    assert text.count("<details open>") == 5  # the model, two stages, two blocks


def test_a_finding_leads_to_its_module(folder: Path, run: Run) -> None:
    text = _drawn(run, folder, "build", "out.html")
    led = {unquote(html.unescape(target)) for target in re.findall(r'href="#([^"]*)"', text)}

    assert led == {"0/3.7.drop", "0/6.2.norm"}
    assert led <= {html.unescape(name) for name in re.findall(r'<li id="([^"]*)"', text)}


def test_what_a_model_is_called_cannot_leave_its_place(folder: Path, run: Run) -> None:
    (folder / "model.py").write_text(
        "from torch import nn\n\n\ndef build():\n    model = nn.Sequential()\n"
        "    model.add_module('<script>alert(1)</script>\"&', nn.Dropout())\n    return model\n"
    )
    for name in ("out.html", "out.svg"):
        assert "<script>alert" not in _drawn(run, folder, "build", name)
    xml.etree.ElementTree.parse(folder / "out.svg")


def test_another_ending_is_refused_before_anything_runs(folder: Path, run: Run) -> None:
    done = run("trace", "model.py:build", "--graph", "out.pdf")

    assert (done.status, done.err) == (2, "modellint: --graph: out.pdf: the name ends in neither .html nor .svg\n")


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason="needs a Chromium to look at the page")
def test_in_a_browser_a_search_leaves_the_way_to_what_was_found(folder: Path, run: Run) -> None:
    text = _drawn(run, folder, "build", "out.html")
    (folder / "searched.html").write_text(text + _SEARCH, encoding="utf-8")

    assert "<title>4 shown, 1 module</title>" in _dom(folder / "searched.html")
