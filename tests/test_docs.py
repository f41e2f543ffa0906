"""Generated documentation is fresh, and links in the documentation lead somewhere."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
_CODE = re.compile(r"```.*?```|`[^`]*`", re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)")


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    """Return docs/generate.py as a module."""
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_generated_pages_are_fresh(generator: ModuleType) -> None:
    stale = [p for p, text in generator.generated().items() if not p.exists() or p.read_text("utf-8") != text]
    assert not stale, "run `make docs`"


def test_no_page_is_left_of_a_rule_that_is_gone(generator: ModuleType) -> None:
    assert set(generator.RULES.glob("*.md")) <= set(generator.generated())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_to_files_lead_somewhere(page: Path) -> None:
    prose = _CODE.sub("", page.read_text("utf-8"))
    links = [link for link in _LINK.findall(prose) if "://" not in link]
    assert not [link for link in links if not (page.parent / link).exists()]
