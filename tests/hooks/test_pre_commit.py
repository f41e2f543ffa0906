"""Our hooks under the real pre-commit, in a git repository made for the purpose."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
SHIPPED = ("modellint", "rules", "pyproject.toml", "README.md", "LICENSE", ".pre-commit-hooks.yaml")
BIN = Path(sys.executable).parent
# What pip says where there is no package index to build the hook's environment from.
NO_INDEX = re.compile(r"Connection|No matching distribution|name resolution|ProxyError|Network is unreachable", re.I)

BAD = """\
import torch
from torchvision.models import resnet18

def predict(image):
    model = resnet18(weights="DEFAULT")
    with torch.no_grad():
        return model(image).argmax(-1).item()
"""
GOOD = BAD.replace('"DEFAULT")', '"DEFAULT").eval()')

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("pre-commit")]


class Repository:
    """A git repository in which one of our hooks is installed."""

    def __init__(self, folder: Path, hooks: Path, revision: str, hook: str, environment: dict[str, str]) -> None:
        self.folder = folder
        self.environment = environment
        folder.mkdir(parents=True)
        self.run("git", "init", "-q")
        text = f"repos:\n- repo: {hooks}\n  rev: {revision}\n  hooks:\n  - id: {hook}\n"
        (folder / ".pre-commit-config.yaml").write_text(text)
        installed = self.run("pre-commit", "install", "--install-hooks", check=False)
        said = installed.stdout + installed.stderr
        if installed.returncode and NO_INDEX.search(said):
            pytest.skip("pre-commit cannot build the hook's environment: no package index")
        assert installed.returncode == 0, said

    def run(self, *command: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, cwd=self.folder, env=self.environment, capture_output=True, text=True, check=check, timeout=600
        )

    def commit(self, **files: str) -> subprocess.CompletedProcess[str]:
        """Write `files`, whose names are given without suffix, and commit everything."""
        for name, text in files.items():
            (self.folder / f"{name}.py").write_text(text)
        self.run("git", "add", "--all")
        return self.run("git", "commit", "--message", "a change", check=False)

    def commits(self) -> int:
        counted = self.run("git", "rev-list", "--count", "--all")
        return int(counted.stdout)


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    home = tmp_path_factory.mktemp("home")
    identity = {f"GIT_{who}_{what}": "x@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "PRE_COMMIT"))}
    path = f"{BIN}{os.pathsep}{os.environ['PATH']}"
    return (
        kept | identity | {"PRE_COMMIT_HOME": str(home / "pre-commit"), "PATH": path, "GIT_CONFIG_GLOBAL": os.devnull}
    )


@pytest.fixture(scope="module")
def hooks(tmp_path_factory: pytest.TempPathFactory, environment: dict[str, str]) -> tuple[Path, str]:
    """Return a git repository with what is being tested, committed or not, and its revision."""
    folder = tmp_path_factory.mktemp("hooks") / "modellint"
    folder.mkdir()
    for name in SHIPPED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, folder / name)
    for command in (["init", "-q"], ["add", "--all"], ["commit", "-q", "-m", "as it is"]):
        subprocess.run(["git", *command], cwd=folder, env=environment, check=True)
    head = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    return folder, head.stdout.strip()


@pytest.fixture(scope="module")
def repository(
    tmp_path_factory: pytest.TempPathFactory, hooks: tuple[Path, str], environment: dict[str, str]
) -> Repository:
    """Return a repository with the static hook, whose environment pre-commit builds from scratch."""
    return Repository(tmp_path_factory.mktemp("static") / "project", *hooks, "modellint", environment)


def test_a_good_commit_passes(repository: Repository) -> None:
    before = repository.commits()
    done = repository.commit(good=GOOD)
    assert done.returncode == 0, done.stdout + done.stderr
    assert repository.commits() == before + 1


def test_a_bad_commit_is_stopped(repository: Repository) -> None:
    before = repository.commits()
    done = repository.commit(bad=BAD)
    assert done.returncode == 1
    assert "bad.py:7:16: error[ML101]" in done.stdout + done.stderr
    assert repository.commits() == before
    assert repository.commit(bad=GOOD).returncode == 0, "the same file, repaired"


def test_an_excluded_file_is_not_checked(repository: Repository) -> None:
    (repository.folder / ".modellint.yaml").write_text("exclude: [legacy.py]\n")
    assert repository.commit(legacy=BAD).returncode == 0


def test_the_static_hook_brings_no_torch(repository: Repository) -> None:
    home = Path(repository.environment["PRE_COMMIT_HOME"])
    packages = {path.name for path in home.glob("repo*/py_env-*/lib/python*/site-packages/*")}
    assert "modellint" in packages
    assert "torch" not in packages


@pytest.fixture(scope="module")
def traced(
    tmp_path_factory: pytest.TempPathFactory, hooks: tuple[Path, str], environment: dict[str, str]
) -> Repository:
    """Return a repository with the runtime hook."""
    pytest.importorskip("torch")
    made = Repository(tmp_path_factory.mktemp("trace") / "project", *hooks, "modellint-trace", environment)
    model = "models:\n  - target: net.py:build\n    inputs: ['float32[2,4]']\n"
    (made.folder / ".modellint.yaml").write_text(model)
    return made


@pytest.mark.torch
class TestTrace:
    """The runtime hook works in the project's own environment: here, the one that runs the tests."""

    MODEL = "from torch import nn\n\ndef build():\n    return nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5)){mode}\n"

    def test_a_good_model_passes(self, traced: Repository) -> None:
        done = traced.commit(net=self.MODEL.format(mode=".eval()"))
        assert done.returncode == 0, done.stdout + done.stderr

    def test_a_bad_model_stops_the_commit(self, traced: Repository) -> None:
        done = traced.commit(net=self.MODEL.format(mode=""))
        assert done.returncode == 1
        assert "ML601" in done.stdout + done.stderr
