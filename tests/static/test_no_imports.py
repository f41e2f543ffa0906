"""The static pass starts quickly: it never loads torch, nor what only other parts of modellint need."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.static.conftest import write

FORBIDDEN = ("torch", "torchvision", "transformers", "libcst", "astroid", "rich", "pygls", "numpy")
SCRIPT = """
import sys
from pathlib import Path

from modellint.catalog import ActiveRule, load_frameworks, load_rules
from modellint.sources import read_source
from modellint.static import Analyzer

path = Path(sys.argv[1])
rules = {code: ActiveRule.default(rule) for code, rule in load_rules().items()}
found = Analyzer(rules, load_frameworks(), path.parent).check(read_source(path))
print({d.code for d in found} >= {"ML101"}, [name for name in sys.argv[2:] if name in sys.modules])
"""


def test_a_check_loads_neither_torch_nor_the_tools_of_others(tmp_path: Path) -> None:
    [path] = write(
        tmp_path,
        {
            "app.py": """
                import astroid
                import libcst
                import rich
                import torch
                from torchvision.models import resnet18

                net = resnet18(weights="DEFAULT")
                print(net(torch.load("x.pt", weights_only=True)).argmax())
                """
        },
    )

    run = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(path), *FORBIDDEN], capture_output=True, text=True, timeout=60, check=True
    )

    assert run.stdout.strip() == "True []"


def test_a_check_does_not_run_what_it_reads(tmp_path: Path) -> None:
    witness = tmp_path / "ran"
    [path] = write(
        tmp_path,
        {"app.py": f"import torch\nopen({str(witness)!r}, 'w').close()\nraise SystemExit(3)\n"},
    )

    subprocess.run([sys.executable, "-c", SCRIPT, str(path)], capture_output=True, timeout=60, check=True)

    assert not witness.exists()
