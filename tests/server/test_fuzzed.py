"""Sessions of random messages, right and wrong ones: at the end the editor shows what `modellint check` prints."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from tests.server.client import Client, checked, edit, essence
from tests.server.programs import FINE, FORGOTTEN, MODEL, SCRIPT

BAD_MODEL = MODEL.replace("    net.eval()\n", "")
TEXTS = {
    "model.py": (MODEL, BAD_MODEL),
    "predict.py": (SCRIPT, SCRIPT.replace("@torch.no_grad()\n", ""), SCRIPT + "# modellint: ignore-file[ML101]\n"),
    "other.py": (FINE, FORGOTTEN, "from model import load\n", "# '😀'\r\n" + FORGOTTEN),
}
PIECES = ("", "\n", "model.eval()\n", "import (", "\r\n", "é😀", "    ", "# modellint: ignore[ML101]", "'''", "x = 1\n")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_the_end_is_what_check_finds(client: Client, seed: int) -> None:
    dice = random.Random(seed)
    for name, texts in TEXTS.items():
        (client.folder / name).write_bytes(texts[0].encode())
    client.start()
    opened: set[str] = set()

    def place() -> tuple[int, int]:
        return dice.choice([(dice.randrange(25), dice.randrange(60)), (10**6, 0), (0, 0)])

    def open_it(name: str) -> None:
        client.open(name, dice.choice(TEXTS[name]), version=dice.randrange(5))
        opened.add(name)

    def close_it(name: str) -> None:
        client.close(client.uri(name))
        opened.discard(name)

    def type_into(name: str) -> None:
        changes = [edit(place(), place(), dice.choice(PIECES)) for _ in range(dice.randrange(1, 4))]
        client.change(client.uri(name), *changes, version=dice.choice([None, None, 0, 10**6]))

    def replace(name: str) -> None:
        client.replace(client.uri(name), dice.choice(TEXTS[name]))

    def write(name: str) -> None:
        (client.folder / name).write_bytes(dice.choice(TEXTS[name]).encode())
        changes = [{"uri": client.uri(name), "type": dice.choice([1, 2])}]
        client.notify("workspace/didChangeWatchedFiles", {"changes": changes})

    def ask(name: str) -> None:
        spot = dict(zip(("line", "character"), place(), strict=True))
        document = {"textDocument": {"uri": client.uri(name)}}
        client.ask("textDocument/hover", {**document, "position": spot})
        number = client.ask(
            "textDocument/codeAction",
            {**document, "range": {"start": spot, "end": spot}, "context": {"diagnostics": []}},
        )
        if dice.random() < 0.5:
            client.notify("$/cancelRequest", {"id": number})

    steps: list[Callable[[str], None]] = [open_it, open_it, close_it, type_into, type_into, replace, write, ask]
    steps.append(lambda name: client.save(client.uri(name)))
    for _ in range(150):
        dice.choice(steps)(dice.choice(list(TEXTS)))

    for name in TEXTS:
        final = dice.choice(TEXTS[name])
        (client.folder / name).write_bytes(final.encode())
        if name in opened:
            client.change(client.uri(name), {"text": final}, version=10**7)
        changes = [{"uri": client.uri(name), "type": 2}]
        client.notify("workspace/didChangeWatchedFiles", {"changes": changes})
        client.save(client.uri(name))
    wanted = checked(client.folder)
    for name in opened:
        uri = client.uri(name)
        client.until(lambda uri=uri: (p := client.published(uri)) and essence(p[-1]["diagnostics"]) == wanted[uri])
