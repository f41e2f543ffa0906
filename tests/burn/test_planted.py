"""Projects in the style of several versions of Burn, each with one defect or none: servers, workspaces, features."""

from __future__ import annotations

from tests.burn.conftest import Lint
from tests.burn.test_projects import INFERENCE, MANIFEST, TRAINING

SERVER = """\
use burn::{prelude::*, record::{BinFileRecorder, FullPrecisionSettings}};

pub struct Predictor<B: Backend> {
    model: Model<B>,
    device: B::Device,
}

impl<B: Backend> Predictor<B> {
    pub fn load(path: &str) -> Self {
        let device = B::Device::default();
        let recorder = BinFileRecorder::<FullPrecisionSettings>::new();
        let model = ModelConfig::new().init::<B>(&device).load_file(path, &recorder, &device).unwrap();
        Self { model, device }
    }

    pub fn predict(&self, pixels: Vec<f32>) -> usize {
        let input = Tensor::<B, 1>::from_floats(pixels.as_slice(), &self.device);
        self.model.forward(input).argmax(0).into_scalar().to_usize()
    }
}
"""


def test_a_server_on_the_plain_backend_beside_a_trainer(lint: Lint) -> None:
    lint(
        {
            "Cargo.toml": MANIFEST.format(version="0.13"),
            "src/lib.rs": "pub mod server;\npub mod training;\npub type Plain = burn::backend::NdArray<f32>;\n",
            "src/server.rs": SERVER,
            "src/training.rs": TRAINING,
            "src/bin/serve.rs": """\
use classifier::{server::Predictor, Plain};

#[tokio::main]
async fn main() {
    let predictor = Predictor::<Plain>::load("model.bin");
    println!("{}", predictor.predict(vec![0.0; 784]));
}
""",
            "src/bin/train.rs": """\
use burn::backend::Autodiff;
use classifier::{training::train, Plain};

fn main() {
    train::<Autodiff<Plain>>("/tmp/model", Default::default());
}
""",
        }
    )


def test_a_training_loop_that_validates_on_the_inner_backend(lint: Lint) -> None:
    lint(
        {
            "Cargo.toml": MANIFEST.format(version="0.17"),
            "src/main.rs": """\
use burn::{backend::{Autodiff, Wgpu}, optim::{AdamConfig, GradientsParams, Optimizer}, prelude::*};
use burn::{module::AutodiffModule, tensor::backend::AutodiffBackend};

fn train<B: AutodiffBackend>(device: &B::Device, mut model: Model<B>) -> Model<B> {
    let mut optim = AdamConfig::new().init();
    for batch in loader(device) {
        let grads = GradientsParams::from_grads(model.forward(batch).backward(), &model);
        model = optim.step(1e-4, model, grads);
    }
    evaluate::<B::InnerBackend>(&model.valid(), device);
    model
}

fn evaluate<B: Backend>(model: &Model<B>, device: &B::Device) {
    let accuracy = model.forward(images::<B>(device));
}

fn main() {
    train::<Autodiff<Wgpu>>(&Default::default(), ModelConfig::new().init(&Default::default()));
}
""",
        }
    )


def test_a_test_of_the_predictor_on_the_recording_backend(lint: Lint) -> None:
    lint(
        {
            "Cargo.toml": MANIFEST.format(version="0.20"),
            "src/lib.rs": SERVER
            + """\

#[cfg(test)]
mod tests {
    use super::*;
    use burn::backend::{Autodiff, NdArray};

    #[test]
    fn predicts() {
        assert_eq!(Predictor::<Autodiff<NdArray>>::load("model.bin").predict(vec![]), 0);
    }
}
""",
        }
    )


SERVED_22 = """\
use burn::prelude::*;
use burn::store::{BurnpackStore, ModuleSnapshot};

pub fn serve(path: &str) {
    let device = Device::default();
    let mut model = ModelConfig::new().init(&device);
    model.load_from(&mut BurnpackStore::from_file(path)).unwrap();
    for request in requests() {
        let input = Tensor::<2>::from_data(request.pixels, &device);
        request.answer(model.forward(input));
    }
}
"""


def test_burn_0_22_a_server_on_the_plain_device(lint: Lint) -> None:
    lint({"Cargo.toml": MANIFEST.format(version="0.22.0-pre.2"), "src/main.rs": SERVED_22})


def test_burn_0_22_a_server_on_the_recording_device(lint: Lint) -> None:
    wrong = SERVED_22.replace("Device::default();", "Device::default().autodiff();  // ML501")
    lint({"Cargo.toml": MANIFEST.format(version="0.22.0-pre.2"), "src/main.rs": wrong})


def test_a_predictor_made_on_the_recording_backend(lint: Lint) -> None:
    lint(
        {
            "Cargo.toml": MANIFEST.format(version="0.13"),
            "src/lib.rs": "pub mod server;\n",
            "src/server.rs": SERVER,
            "src/bin/serve.rs": """\
use burn::backend::{Autodiff, NdArray};
use classifier::server::Predictor;

fn main() {
    let predictor = Predictor::<Autodiff<NdArray>>::load("model.bin");  // ML501
    println!("{}", predictor.predict(vec![0.0; 784]));
}
""",
        }
    )


def test_the_alias_of_another_crate_hides_the_backend(lint: Lint) -> None:
    lint(
        {
            "Cargo.toml": '[workspace]\nmembers = ["core", "server"]\n[workspace.dependencies]\nburn = "0.17"\n',
            "core/Cargo.toml": '[package]\nname = "app-core"\n[dependencies]\nburn = { workspace = true }\n',
            "core/src/lib.rs": "pub mod backend;\npub mod inference;\npub use backend::Chosen as AppBackend;\n",
            "core/src/backend.rs": "pub type Chosen = burn::backend::Autodiff<burn::backend::Wgpu>;\n",
            "core/src/inference.rs": INFERENCE,
            "server/Cargo.toml": """\
[package]
name = "server"
[dependencies]
app-core = { path = "../core" }
burn = { workspace = true }
""",
            "server/src/main.rs": """\
use app_core::{inference::infer, AppBackend};

fn main() {
    infer::<AppBackend>("/srv/model", Default::default());  // ML501
}
""",
        }
    )


def test_one_of_the_features_chooses_the_recording_backend(lint: Lint) -> None:
    lint(
        {
            "Cargo.toml": MANIFEST.format(version="0.17") + '\n[features]\ndefault = ["wgpu"]\nwgpu = ["burn/wgpu"]\n',
            "src/inference.rs": INFERENCE,
            "src/main.rs": """\
mod inference;

#[cfg(feature = "wgpu")]
mod elements {
    pub type Engine = burn::backend::Autodiff<burn::backend::Wgpu>;
}

#[cfg(not(feature = "wgpu"))]
mod elements {
    pub type Engine = burn::backend::NdArray<f32>;
}

fn main() {
    inference::infer::<elements::Engine>("/tmp/model", Default::default());  // ML501
}
""",
        }
    )


def test_a_generic_function_hands_the_backend_on_through_two_crates(lint: Lint) -> None:
    member = '[package]\nname = "{name}"\n[dependencies]\nburn = "0.20"\n{more}'
    lint(
        {
            "Cargo.toml": '[workspace]\nmembers = ["crates/*"]\n',
            "crates/engine/Cargo.toml": member.format(name="engine", more=""),
            "crates/engine/src/lib.rs": "mod inference;\npub use inference::infer as answer;\n",
            "crates/engine/src/inference.rs": INFERENCE,
            "crates/launcher/Cargo.toml": member.format(name="launcher", more='engine = { path = "../engine" }\n'),
            "crates/launcher/src/lib.rs": """\
use burn::prelude::*;

pub fn start<B: Backend>(device: B::Device) {
    engine::answer::<B>("/srv/model", device);
}
""",
            "crates/app/Cargo.toml": member.format(name="app", more='launcher = { path = "../launcher" }\n'),
            "crates/app/src/main.rs": """\
use burn::backend::{Autodiff, Candle};

fn main() {
    launcher::start::<Candle>(Default::default());
    launcher::start::<Autodiff<Candle>>(Default::default());  // ML501
}
""",
        }
    )


def test_burn_0_10_a_renamed_package_and_the_old_names(lint: Lint) -> None:
    lint(
        {
            "Cargo.toml": """\
[package]
name = "digits"

[dependencies]
fire = { package = "burn", version = "0.10" }
fire-ndarray = { package = "burn-ndarray", version = "0.10" }
fire-autodiff = { package = "burn-autodiff", version = "0.10" }
""",
            "src/lib.rs": """\
use fire::{module::Module, record::{CompactRecorder, Recorder}, tensor::backend::Backend};

pub fn predict<B: Backend>(device: B::Device) {
    let record = CompactRecorder::new().load("model".into()).unwrap();
    let model = Model::<B>::new().load_record(record).to_device(&device);
    println!("{:?}", model.forward(digits()));
}
""",
            "examples/predict.rs": """\
use fire_autodiff::ADBackendDecorator;
use fire_ndarray::NdArrayBackend;

type Float = NdArrayBackend<f32>;
type Recording = ADBackendDecorator<Float>;

fn main() {
    digits::predict::<Float>(Default::default());
    digits::predict::<Recording>(Default::default());  // ML501
}
""",
        }
    )


def test_a_model_held_in_the_state_of_a_server(lint: Lint) -> None:
    lint(
        {
            "Cargo.toml": MANIFEST.format(version="0.17"),
            "src/main.rs": """\
use burn::{backend::{Autodiff, NdArray}, prelude::*, record::CompactRecorder};

type ServerBackend = Autodiff<NdArray>;

struct AppState {
    model: Model<ServerBackend>,
}

fn load_state(device: &NdArrayDevice) -> AppState {
    let model: Model<ServerBackend> = ModelConfig::new().init(device);
    AppState { model: model.load_file("model", &CompactRecorder::new(), device).unwrap() }
}

async fn predict(state: AppState, pixels: Vec<f32>) -> String {
    let input = Tensor::<ServerBackend, 1>::from_floats(pixels.as_slice(), &Default::default());  // ML501
    state.model.forward(input).to_string()
}
""",
        }
    )
