"""Whole Cargo projects: workspaces, renamed packages, the vocabulary of each version."""

from __future__ import annotations

from tests.burn.conftest import Lint

MANIFEST = """\
[package]
name = "classifier"
version = "0.1.0"

[dependencies]
burn = {{ version = "{version}", features = ["ndarray"] }}
"""

INFERENCE = """\
use burn::{prelude::*, record::{CompactRecorder, Recorder}};

pub fn infer<B: Backend>(dir: &str, device: B::Device) {
    let record = CompactRecorder::new().load(format!("{dir}/model").into(), &device).unwrap();
    let model = ModelConfig::new().init::<B>(&device).load_record(record);
    println!("{}", model.forward(images).argmax(1));
}
"""

TRAINING = """\
use burn::{prelude::*, tensor::backend::AutodiffBackend, train::LearnerBuilder};

pub fn train<B: AutodiffBackend>(dir: &str, device: B::Device) {
    let learner = LearnerBuilder::new(dir).build(model, optim, 1e-4);
    learner.fit(loader, valid);
}
"""


def test_a_binary_that_trains_and_infers_each_on_its_backend(lint: Lint) -> None:
    lint(
        {
            "Cargo.toml": MANIFEST.format(version="0.18"),
            "src/lib.rs": "pub mod inference;\npub mod training;\n",
            "src/inference.rs": INFERENCE,
            "src/training.rs": TRAINING,
            "src/main.rs": """\
use burn::backend::{Autodiff, NdArray};
use classifier::{inference, training};

type Plain = NdArray<f32>;

fn main() {
    training::train::<Autodiff<Plain>>("/tmp/model", Default::default());
    inference::infer::<Plain>("/tmp/model", Default::default());
}
""",
        }
    )


def test_a_launcher_whose_bound_trains_and_hands_the_inner_backend_on(lint: Lint) -> None:
    lint(
        {
            "Cargo.toml": MANIFEST.format(version="0.18"),
            "src/lib.rs": "pub mod inference;\npub mod training;\n",
            "src/inference.rs": INFERENCE,
            "src/training.rs": TRAINING,
            "src/main.rs": """\
use burn::{backend::{Autodiff, NdArray}, tensor::backend::AutodiffBackend};
use classifier::{inference::infer, training::train};

fn run<B: AutodiffBackend>() {
    train::<B>("/tmp/model", Default::default());
    infer::<B::InnerBackend>("/tmp/model", Default::default());
}

fn main() {
    run::<Autodiff<NdArray>>();
}
""",
        }
    )


def test_a_benchmark_and_a_test_may_run_on_autodiff(lint: Lint) -> None:
    program = """\
use burn::backend::{Autodiff, NdArray};

#[cfg(test)]
mod tests {
    use super::*;

    fn predict() {
        let model = Model::<Autodiff<NdArray>>::new().load_record(record);
        model.forward(x);
    }
}
"""
    lint({"src/model.rs": program, "tests/infer.rs": program.replace("#[cfg(test)]", "")})


def test_a_type_of_the_project_that_is_called_autodiff(lint: Lint) -> None:
    lint(
        {
            "Cargo.toml": MANIFEST.format(version="0.18"),
            "src/main.rs": """\
mod inference;
type Autodiff<B> = Plain<B>;

fn main() {
    inference::infer::<Autodiff<f32>>("/tmp/model", Default::default());
}
""",
            "src/inference.rs": INFERENCE,
        }
    )


def test_one_module_for_each_backend_in_an_example_of_another_crate(lint: Lint) -> None:
    lint(
        {
            "Cargo.toml": '[workspace]\nmembers = ["crates/*"]\n[workspace.dependencies]\nburn = "0.16"\n',
            "crates/text-model/Cargo.toml": '[package]\nname = "text-model"\n[dependencies]\nburn.workspace = true\n',
            "crates/text-model/src/lib.rs": "mod inference;\npub use inference::*;\n",
            "crates/text-model/src/inference.rs": INFERENCE,
            "crates/app/Cargo.toml": """\
[package]
name = "app"
[dependencies]
fire = { package = "burn", version = "0.16" }
text = { package = "text-model", path = "../text-model" }
""",
            "crates/app/examples/answer.rs": """\
use fire::tensor::backend::Backend;

pub fn launch<B: Backend>(device: B::Device) {
    text::infer::<B>("/tmp/model", device);
}

mod wgpu {
    use crate::launch;
    use fire::backend::{wgpu::Wgpu, Autodiff as Tracked};

    pub fn run() {
        launch::<Tracked<Wgpu>>(Default::default());  // ML501
    }
}

mod candle {
    use super::launch;
    use fire::backend::{Autodiff, Candle};

    type Recording = Autodiff<Candle<f32>>;

    pub fn run() {
        launch::<Recording>(Default::default());  // ML501
    }
}

mod ndarray {
    use super::*;
    use fire::backend::NdArray;

    pub fn run() {
        launch::<NdArray>(Default::default());
    }
}

fn main() {
    wgpu::run();
    candle::run();
    ndarray::run();
}
""",
        }
    )


def test_a_trainer_that_infers_on_its_own_bound(lint: Lint) -> None:
    lint(
        {
            "src/main.rs": """\
mod inference;
mod training;
use burn::tensor::backend::AutodiffBackend;

fn run<B: AutodiffBackend>() {
    training::train::<B>("/tmp/model", Default::default());
    inference::infer::<B>("/tmp/model", Default::default());  // ML501
}
""",
            "src/inference.rs": INFERENCE,
            "src/training.rs": TRAINING,
        }
    )


def test_modules_that_import_each_other_end(lint: Lint) -> None:
    lint(
        {
            "src/lib.rs": "pub mod a;\npub mod b;\npub use a::*;\npub use b::*;\n",
            "src/a.rs": "pub use super::*;\npub use crate::b::*;\nuse burn::backend::Autodiff;\n",
            "src/b.rs": """\
pub use crate::a::*;
pub use crate::*;

pub fn infer() {
    let model: Model<Autodiff<NdArray>> = Model::new().load_record(record);  // ML501
    model.forward(x);
}
""",
        }
    )


SAFE_22 = """\
use burn::prelude::*;

pub fn run(device: Device) {
    let recording = device.clone().autodiff();
    let mut model = ModelConfig::new().init(&recording);
    let train = DataLoaderBuilder::new(batcher.clone()).set_device(recording.clone()).build(train_set());
    let test = DataLoaderBuilder::new(batcher).set_device(device.clone()).build(test_set());
    for batch in train.iter() {
        let loss = model.forward(batch.images);
        let grads = GradientsParams::from_grads(loss.backward(), &model);
        model = optim.step(1e-3, model, grads);
    }
    let model = model.valid();
    for batch in test.iter() {
        let output = model.forward(batch.images);
    }
}
"""


def test_burn_0_22_validation_on_the_plain_device(lint: Lint) -> None:
    lint({"Cargo.toml": MANIFEST.format(version="0.22.0-pre.2"), "src/lib.rs": SAFE_22})


def test_burn_0_22_validation_batches_from_the_autodiff_device(lint: Lint) -> None:
    wrong = SAFE_22.replace("set_device(device.clone())", "set_device(recording.clone())")
    marked = wrong.replace(
        "let output = model.forward(batch.images);", "let output = model.forward(batch.images);  // ML501"
    )
    lint({"Cargo.toml": MANIFEST.format(version="0.22.0-pre.2"), "src/lib.rs": marked})


def test_a_device_has_no_autodiff_before_0_22(lint: Lint) -> None:
    program = """\
use burn::prelude::*;

fn infer(dir: &str, device: Device) {
    let graph = autodiff_of(device.autodiff());{mark}
    let model = ModelConfig::new().init(&graph).load_record(record);
    model.forward(x);
}
"""
    lint({"Cargo.toml": MANIFEST.format(version="0.21"), "src/lib.rs": program.replace("{mark}", "")})


def test_inference_on_the_autodiff_device_from_0_22_on(lint: Lint) -> None:
    program = """\
use burn::prelude::*;

fn infer(dir: &str, device: Device) {
    let device = device.autodiff();  // ML501
    let model = ModelConfig::new().init(&device).load_record(record);
    model.forward(x);
}
"""
    lint({"Cargo.toml": MANIFEST.format(version="0.22"), "src/lib.rs": program})
