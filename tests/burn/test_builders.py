"""Types that serve inference, made step by step, and binaries that name nothing of Burn themselves."""

from __future__ import annotations

from tests.burn.conftest import Lint
from tests.burn.test_projects import INFERENCE, MANIFEST, TRAINING

BUILDER = """\
use burn::{prelude::*, record::{CompactRecorder, Recorder}};
use crate::model::Net;

pub struct PipelineBuilder<B: Backend> { device: B::Device, path: String }

impl<B: Backend> PipelineBuilder<B> {
    pub fn new(device: B::Device) -> Self {
        Self { device, path: String::new() }
    }

    pub fn weights(mut self, path: &str) -> Self {
        self.path = path.into();
        self
    }

    pub fn classify(self, images: Tensor<B, 4>) -> Tensor<B, 2> {
        let record = CompactRecorder::new().load(self.path.into(), &self.device).unwrap();
        Net::new(&self.device).load_record(record).forward(images)
    }
}
"""

BINARY = """\
mod builder;
mod model;
use burn::backend::{Autodiff, NdArray};
use builder::PipelineBuilder;

type Chosen = %s;

fn main() {
    let pipeline = PipelineBuilder::<Chosen>::new(Default::default()).weights("net");%s
    show(pipeline.classify(images()));
}
"""

PRELUDE = """\
pub use burn::backend::{Autodiff as Recording, NdArray};
pub type Chosen = Recording<NdArray>;
pub type Plain = NdArray;
"""


def _project(binary: str) -> dict[str, str]:
    return {"Cargo.toml": MANIFEST.format(version="0.16"), "src/builder.rs": BUILDER, "src/main.rs": binary}


def test_a_builder_on_the_plain_backend(lint: Lint) -> None:
    lint(_project(BINARY % ("NdArray", "")))


def test_a_builder_that_finetunes_what_it_loads(lint: Lint) -> None:
    tune = "    pub fn tune(self, images: Tensor<B, 4>) {\n        self.net.forward(images).mean().backward();\n    }\n"
    project = _project(BINARY % ("Autodiff<NdArray>", ""))
    lint(project | {"src/builder.rs": BUILDER.removesuffix("}\n") + tune + "}\n"})


def test_a_builder_made_where_gradients_are_taken(lint: Lint) -> None:
    lint(_project(BINARY.replace("show(", "descend(loss.backward(), ") % ("Autodiff<NdArray>", "")))


def test_a_builder_made_on_the_recording_backend_two_calls_before_it_infers(lint: Lint) -> None:
    lint(_project(BINARY % ("Autodiff<NdArray>", "  // ML501")))


def test_a_binary_that_knows_burn_from_its_own_prelude_only(lint: Lint) -> None:
    def launch(backend: str, mark: str = "") -> str:
        use = "use classifier::{inference, prelude::*};\n"
        return f'{use}fn main() {{\n    inference::infer::<{backend}>("a", device());{mark}\n}}\n'

    lint(
        {
            "Cargo.toml": MANIFEST.format(version="0.18"),
            "src/lib.rs": "pub mod inference;\npub mod prelude;\npub mod training;\n",
            "src/inference.rs": INFERENCE,
            "src/training.rs": TRAINING,
            "src/prelude.rs": PRELUDE,
            "src/bin/plain.rs": launch("Plain"),
            "src/bin/recording.rs": launch("Chosen", "  // ML501"),
        }
    )


def test_a_workspace_in_which_nobody_depends_on_burn(lint: Lint) -> None:
    lint({"Cargo.toml": '[package]\nname = "web"\n', "src/main.rs": "fn main() {\n    serve::<Chosen>();\n}\n"})
