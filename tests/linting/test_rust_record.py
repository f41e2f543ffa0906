"""What was found in Rust files holds as long as nothing that it follows from is another."""

from __future__ import annotations

from pathlib import Path

import pytest

from modellint.diagnostic import to_dict
from modellint.linting import check_paths
from modellint.linting.store import FOLDER
from modellint.settings import Overrides, Resolver
from tests.linting.test_cache import age

FILES = {
    "Cargo.toml": '[workspace]\nmembers = ["lib", "bins/*"]\n',
    "lib/Cargo.toml": """\
[package]
name = "classifier"
version = "0.1.0"

[dependencies]
burn = { version = "0.18", features = ["ndarray"] }
""",
    "lib/src/lib.rs": "pub mod inference;\n",
    "lib/src/inference.rs": """\
use burn::{prelude::*, record::{CompactRecorder, Recorder}};

pub fn infer<B: Backend>(dir: &str, device: B::Device) {
    let record = CompactRecorder::new().load(format!("{dir}/model").into(), &device).unwrap();
    let model = ModelConfig::new().init::<B>(&device).load_record(record);
    println!("{}", model.forward(images).argmax(1));
}
""",
    "bins/main/Cargo.toml": """\
[package]
name = "main"
version = "0.1.0"

[dependencies]
burn = { version = "0.18", features = ["ndarray"] }
classifier = { path = "../../lib" }
""",
    "bins/main/src/main.rs": """\
use burn::backend::{Autodiff, NdArray};
use classifier::inference;

type Chosen = Autodiff<NdArray<f32>>;

fn main() {
    inference::infer::<Chosen>("/tmp/model", Default::default());
}
""",
    "predict.py": "import json\n",
}


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    pytest.importorskip("tree_sitter")
    write(tmp_path, {".git/HEAD": "", **FILES})
    for path in (tmp_path, *tmp_path.rglob("*")):
        if path.is_dir():
            age(path)
    return tmp_path


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def findings(folder: Path, cache: bool = True) -> list[dict[str, object]]:
    reports = check_paths([folder], Resolver(Overrides(isolated=True)), cache=cache)
    return [to_dict(d) for report in reports for d in report.diagnostics]


def test_nothing_changed_nothing_is_checked(workspace: Path, checked: list[str]) -> None:
    cold = findings(workspace)
    assert {str(finding["code"]) for finding in cold} == {"ML501"}
    assert "main.rs" in checked
    checked.clear()
    assert findings(workspace) == cold
    assert checked == []


PLAIN = FILES["bins/main/src/main.rs"].replace("Autodiff<NdArray<f32>>", "NdArray<f32>")
CHANGES = {
    "the file with the finding": {"bins/main/src/main.rs": PLAIN},
    "a file that it calls": {"lib/src/inference.rs": "pub fn infer<B>(dir: &str, device: u8) {}\n"},
    "a manifest": {"bins/main/Cargo.toml": FILES["bins/main/Cargo.toml"].replace("classifier =", "other =")},
    "the members": {"Cargo.toml": '[workspace]\nmembers = ["lib"]\n'},
    "one more member": {
        "bins/more/Cargo.toml": FILES["bins/main/Cargo.toml"].replace('"main"', '"more"'),
        "bins/more/src/main.rs": FILES["bins/main/src/main.rs"],
    },
    "a lock file": {"Cargo.lock": '[[package]]\nname = "burn"\nversion = "0.10.0"\n'},
    "one more file in a library": {
        "lib/src/extra.rs": "use burn::backend::Autodiff;\npub type Gradual<B> = Autodiff<B>;\n"
    },
    "settings of Python": {"predict.py": "import torch\n"},
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_warm_run_sees_what_a_cold_one_sees(workspace: Path, name: str) -> None:
    before = findings(workspace)
    write(workspace, CHANGES[name])
    after = findings(workspace)
    assert after == findings(workspace, cache=False)
    if name in ("the file with the finding", "a file that it calls", "one more member"):
        assert after != before
    assert findings(workspace) == after


def test_a_file_that_is_gone(workspace: Path) -> None:
    findings(workspace)
    (workspace / "lib/src/inference.rs").unlink()
    assert findings(workspace) == findings(workspace, cache=False)


def test_damage_means_a_cold_run(workspace: Path, checked: list[str]) -> None:
    cold = findings(workspace)
    for record in (workspace / FOLDER).glob("*.json"):
        record.write_text(record.read_text().replace("ML501", "ML502"))
    checked.clear()
    assert findings(workspace) == cold
    assert "main.rs" in checked
