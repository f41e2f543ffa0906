"""The verdict on traced models, as JSON data and as a page."""

from __future__ import annotations

import json
import re
import shutil
import struct
import subprocess
import zlib
from collections.abc import Iterator
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from modellint.catalog import ActiveRule, load_rules
from modellint.diagnostic import Confidence, Diagnostic, RuntimeDetails, Severity, Span
from modellint.report.verdict import content, page
from modellint.runtime import Request, TargetReport
from modellint.runtime.probes.result import Culprit, LayerError, ProbeResult
from modellint.runtime.trace import Frame, ModuleFact, Site, Trace

HOSTILE = "<script>alert('x')</script>&\"\u202e"
RULES = {code: ActiveRule.default(rule) for code, rule in load_rules().items()}
VOID = {"meta", "br"}


def layers(count: int, guilty: int, name: str = "blocks.{}.projection") -> tuple[LayerError, ...]:
    return tuple(
        LayerError(
            name.format(number),
            "Linear",
            0.0 if number <= guilty else 0.5,
            0.0 if number < guilty else 0.5,
            "agrees" if number < guilty else "culprit" if number == guilty else "inherits",
        )
        for number in range(count)
    )


def report(*results: ProbeResult, root: Path, problem: str | None = None, name: str = "net") -> TargetReport:
    """Return the report on a model with a culprit at `blocks.1`, whose findings follow from failed probes."""
    frame = Frame(str(root / "net.py"), 12, 12, None, "net.Net.forward")
    facts = [
        ModuleFact("", "net.Net", False),
        ModuleFact("blocks", "torch.nn.ModuleList", False),
        *(ModuleFact(f"blocks.{number}", "net.Block", number == 2, {"p": 0.5}) for number in range(3)),
        ModuleFact(f"blocks.1.{name}", "torch.nn.Linear", False),
    ]
    trace = Trace(
        target="net.py:build",
        home=frame,
        torch_version="2.13.0",
        device="cpu",
        root_training=False,
        modules=tuple(facts),
        sites=(Site(frame),),
        probes=results,
        environment={"torch": "2.13.0", "TF32 in cuDNN": True, "seed of the generated inputs": 7},
    )
    request = Request("net.py:build", inputs=(f"float32[2,8] {name}",), root=root)
    return TargetReport(request, findings(results, root), problem, ("one note",), trace=trace)


def findings(results: tuple[ProbeResult, ...], root: Path) -> tuple[Diagnostic, ...]:
    codes = {"neighbours": ("ML607", ()), "alone": ("ML702", ("ML607",))}
    return tuple(
        Diagnostic(
            code=codes[result.probe][0],
            name=RULES[codes[result.probe][0]].rule.name,
            severity=Severity.ERROR,
            confidence=Confidence.CERTAIN,
            message=f"the answer changes ({result.reason})",
            filename=str(root / "net.py"),
            span=Span.of(12, 5, 12, 9),
            runtime=RuntimeDetails("net.py:build", "blocks.1", "net.Block", explained_by=codes[result.probe][1]),
        )
        for result in results
        if result.verdict == "failed"
    )


def failed(probe: str = "neighbours", **options: Any) -> ProbeResult:
    options = {"metric": 0.25, "tolerance": 0.0, "tolerance_from": "exact", "forwards": 8, **options}
    culprit = Culprit("aten.std.correction", "blocks.1", 0, why="mixes samples")
    return ProbeResult(probe, "failed", "up to 0.748", "real leak", culprits=(culprit,), **options)


PASSED = ProbeResult("repeat", "passed", metric=0.0, tolerance=0.0, tolerance_from="exact", forwards=2, seconds=0.25)


def told(*reports: TargetReport) -> dict[str, Any]:
    return content(reports, [d for item in reports for d in item.diagnostics], RULES)


class Reader(HTMLParser):
    """Collects the text and the tags of a page, and fails where they do not nest."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.words: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] != ["style"]:
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    def of_class(self, kind: str) -> list[dict[str, str | None]]:
        return [attrs for _, attrs in self.tags if kind in (attrs.get("class") or "").split()]


def test_a_model_that_passes_has_nothing_to_repair(tmp_path: Path) -> None:
    (model,) = told(report(PASSED, root=tmp_path))["models"]

    assert (model["verdict"], model["findings"]) == ("passed", [])
    assert [step["title"] for step in model["next"]] == ["Keep it so"]
    assert all(module["culprit_of"] == [] for module in model["modules"])


def test_what_could_not_have_failed_proves_nothing(tmp_path: Path) -> None:
    (model,) = told(report(ProbeResult("padding", "vacuous", "no mask"), root=tmp_path))["models"]

    assert model["verdict"] == "nothing proved"
    assert [step["title"] for step in model["next"]] == ["Probe padding proved nothing"]


def test_without_a_probe_one_is_suggested(tmp_path: Path) -> None:
    (model,) = told(report(root=tmp_path))["models"]

    assert model["verdict"] == "nothing proved"
    assert "--probe default" in model["next"][0]["text"]


def test_a_target_that_cannot_be_traced(tmp_path: Path) -> None:
    request = Request("net.py:build", root=tmp_path)
    document = told(TargetReport(request, problem="net.py:build: the forward raised ValueError: no"))

    (model,) = document["models"]
    assert (model["verdict"], model["probes"], model["modules"]) == ("not traced", [], [])
    assert "the forward raised ValueError: no" in Reader(page(document)).text


def test_a_failed_probe_names_operation_module_and_line(tmp_path: Path) -> None:
    (model,) = told(report(PASSED, failed(layers=layers(3, 1)), root=tmp_path))["models"]

    assert model["verdict"] == "failed"
    (culprit,) = model["probes"][1]["culprits"]
    assert (culprit["op"], culprit["module"], culprit["place"]) == ("aten.std.correction", "blocks.1", "net.py:12")
    guilty = {module["path"]: module["culprit_of"] for module in model["modules"] if module["culprit_of"]}
    assert guilty == {"blocks.1": ["probe neighbours", "ML607"]}
    assert model["environment"]["TF32 in cuDNN"] is True


def test_causes_are_repaired_before_consequences(tmp_path: Path) -> None:
    (model,) = told(report(failed("alone"), failed("neighbours"), root=tmp_path))["models"]

    titles = [step["title"] for step in model["next"]]
    assert titles == ["ML607 batch-coupling", "ML702 batch-variance", "Check the repair"]
    assert "never over axis 0" in model["next"][0]["text"]
    assert "consequence of ML607" in model["next"][1]["text"]
    assert "--probe alone,neighbours" in model["next"][2]["text"]


def test_a_finding_that_is_not_shown_is_not_in_the_verdict(tmp_path: Path) -> None:
    silenced = report(failed(), root=tmp_path)

    (model,) = content([silenced], [], RULES)["models"]

    assert model["findings"] == []
    assert [step["title"] for step in model["next"]] == ["Check the repair"]


def test_numbers_that_json_does_not_have_are_texts(tmp_path: Path) -> None:
    infinite = LayerError("head", "Linear", 0.0, float("inf"), "culprit")
    document = told(report(failed(metric=float("inf"), layers=(infinite,)), root=tmp_path))

    json.dumps(document, allow_nan=False)
    assert document["models"][0]["probes"][0]["difference"] == "inf"
    assert document["models"][0]["probes"][0]["layers"][0]["error_out"] == "inf"
    assert "infinite" in Reader(page(document)).text


def test_the_page_tells_what_the_document_holds(tmp_path: Path) -> None:
    reader = Reader(page(told(report(PASSED, failed(layers=layers(3, 1)), root=tmp_path))))

    for expected in (
        "failed probes: 1 failed, 1 passed; 1 finding",
        "none, bit for bit",
        "aten.std.correction in blocks.1 , net.py:12 : mixes samples",
        "ML607 batch-coupling",
        "Reduce over the features of one sample",
        "TF32 in cuDNN yes",
        "◆ probe neighbours, ML607",
        "one note",
    ):
        assert expected in reader.text
    assert len(reader.of_class("guilty")) == 2  # the culprit and the legend
    assert len(reader.of_class("out")) == 3
    assert len(reader.of_class("limit")) == 1


def test_the_tree_is_unfolded_to_the_culprit_and_no_further(tmp_path: Path) -> None:
    document = told(report(failed(), root=tmp_path, name="inner"))

    unfolded = [("open" in attrs) for tag, attrs in Reader(page(document)).tags if tag == "details"]

    assert unfolded == [True, True, False]  # the model, blocks, blocks.1


def test_the_page_loads_and_runs_nothing(tmp_path: Path) -> None:
    reader = Reader(page(told(report(failed(layers=layers(3, 1)), root=tmp_path))))

    assert not {"script", "link", "img", "iframe"} & {tag for tag, _ in reader.tags}
    assert not any(name.startswith("on") or name == "src" for _, attrs in reader.tags for name in attrs)
    assert any("default-src 'none'" in (attrs.get("content") or "") for _, attrs in reader.tags)


def test_hostile_names_stay_text(tmp_path: Path) -> None:
    wrong = LayerError(HOSTILE, HOSTILE, 0.0, 1.0, "culprit")
    result = failed(layers=(wrong,), details={"reference": HOSTILE})
    hostile = report(result, root=tmp_path, problem=HOSTILE, name=HOSTILE.replace(".", ""))

    reader = Reader(page(told(hostile)))

    assert not {"script", "alert"} & {tag for tag, _ in reader.tags}
    assert reader.text.count("<script>alert('x')</script>") >= 4


@pytest.mark.parametrize("count", [1, 2, 40, 700])
def test_names_under_the_plot_never_overlap_and_the_culprit_has_its_own(count: int, tmp_path: Path) -> None:
    text = page(told(report(failed(layers=layers(count, count // 2)), root=tmp_path)))

    places = [float(x) for x in re.findall(r'class="name[^"]*" x="([\d.]+)"', text)]
    assert 0 < len(places) <= 36
    assert all(after - before >= 17 for before, after in pairwise(places))
    assert len(re.findall(r'class="name guilty-name"', text)) == 1


def pixels(image: bytes) -> Iterator[tuple[int, ...]]:
    """Yield the colours of a PNG of 8 bits a channel (PNG specification, 9.2: the five filters)."""
    chunks, at = b"", 8
    while at < len(image):
        (length,), kind = struct.unpack(">I", image[at : at + 4]), image[at + 4 : at + 8]
        data = image[at + 8 : at + 8 + length]
        if kind == b"IHDR":
            width, height, _, colour = struct.unpack(">IIBB", data[:10])
        chunks += data if kind == b"IDAT" else b""
        at += 12 + length
    size = {2: 3, 6: 4}[colour]
    raw, before = zlib.decompress(chunks), bytearray(width * size)
    for row in range(height):
        start = row * (width * size + 1)
        line = bytearray(raw[start + 1 : start + 1 + width * size])
        for i in range(len(line)):
            left, up = line[i - size] if i >= size else 0, before[i]
            corner = before[i - size] if i >= size else 0
            guess = min((left, up, corner), key=lambda value: abs(left + up - corner - value))
            line[i] = (line[i] + (0, left, up, (left + up) // 2, guess)[raw[start]]) % 256
        yield from (tuple(line[i : i + 3]) for i in range(0, len(line), size))
        before = line


@pytest.mark.slow
@pytest.mark.parametrize(("dark", "ground"), [(False, (255, 255, 255)), (True, (20, 23, 28))])
def test_a_browser_shows_the_page_in_light_and_dark(dark: bool, ground: tuple[int, ...], tmp_path: Path) -> None:
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no Chromium here: the page was not looked at")
    file, picture = tmp_path / "out.html", tmp_path / "out.png"
    file.write_text(page(told(report(PASSED, failed(layers=layers(3, 1)), root=tmp_path))), "utf-8")
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=640,900"]
    command += [f"--user-data-dir={tmp_path / 'profile'}", f"--screenshot={picture}", file.as_uri()]
    subprocess.run(command + ["--force-dark-mode"] * dark, check=True, capture_output=True, timeout=120)

    seen = list(pixels(picture.read_bytes()))

    red, amber = ((255, 123, 114), (227, 179, 65)) if dark else ((194, 38, 30), (148, 95, 0))
    assert len(seen) == 640 * 900
    assert seen.count(ground) > len(seen) // 2
    assert seen.count(red) > 50, "the verdict, the culprit"
    assert seen.count(amber) > 20, "the line of the tolerance"
