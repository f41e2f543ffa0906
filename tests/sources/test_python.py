"""Bytes become Python text, whatever the encoding and the line ends."""

from __future__ import annotations

from pathlib import Path

import pytest

from modellint.sources import SourceError, read_source

PATH = Path("/project/file.py")


@pytest.mark.parametrize(
    ("data", "text"),
    [
        pytest.param(b"", "", id="empty"),
        pytest.param("x = 'é'\n".encode(), "x = 'é'\n", id="UTF-8"),
        pytest.param(b"\xef\xbb\xbfx = 1\n", "x = 1\n", id="byte order mark"),
        pytest.param(b"\xef\xbb\xbf# coding: utf-8\nx = 1\n", "# coding: utf-8\nx = 1\n", id="mark and cookie"),
        pytest.param(b"# -*- coding: latin-1 -*-\nx = '\xe9'\n", "# -*- coding: latin-1 -*-\nx = 'é'\n", id="latin-1"),
        pytest.param(
            b"#!/usr/bin/python\n# coding=cp1252\nx = '\x80'\n", "#!/usr/bin/python\n# coding=cp1252\nx = '€'\n",
            id="cookie in the second row",
        ),
        pytest.param(b"a = 1\nb = 2\n# coding: nonsense\n", "a = 1\nb = 2\n# coding: nonsense\n", id="third row"),
        pytest.param(b"a = 1\r\nb = 2\rc = 3\n", "a = 1\nb = 2\nc = 3\n", id="foreign line ends"),
    ],
)  # fmt: skip
def test_reads(data: bytes, text: str) -> None:
    source = read_source(PATH, data)
    assert (source.text, source.kind, source.locate(2)) == (text, "python", (None, 2))


@pytest.mark.parametrize("name", ["future_fstrings", "future-fstrings", "future_annotations"])
def test_a_codec_that_only_rewrites_syntax_is_utf_8(name: str) -> None:
    data = f"# -*- coding: {name} -*-\nx = f'é{{1}}'\n".encode()
    assert read_source(PATH, data).lines[1] == "x = f'é{1}'"


def test_a_form_feed_does_not_end_a_row() -> None:
    source = read_source(PATH, b"a = 1\n\x0c\nb = 2\n")
    assert source.lines == ["a = 1", "\x0c", "b = 2", ""]


@pytest.mark.parametrize(
    ("data", "message", "place"),
    [
        pytest.param(b"ok = 1\nx = '\xe9'\n", "not UTF-8: byte 0xe9", (2, 6), id="not UTF-8"),
        pytest.param("é = '".encode() + b"\xff'\n", "not UTF-8: byte 0xff", (1, 6), id="column in code points"),
        pytest.param(b"a\r\nb\rc = '\xff'", "not UTF-8: byte 0xff", (3, 6), id="row behind foreign line ends"),
        pytest.param(b"\xff\xfei\x00", "not UTF-8: byte 0xff", (1, 1), id="UTF-16"),
        pytest.param(b"x = 1\ny = '\x00'\n", "a null byte", (2, 6), id="null byte"),
        pytest.param(b"# coding: nonsense\n", "wrong encoding declaration: unknown encoding", (1, 1), id="unknown"),
        pytest.param(b"# coding: base64\n", "wrong encoding declaration: 'base64' is not", (1, 1), id="no text"),
    ],
)  # fmt: skip
def test_says_where_bytes_are_no_text(data: bytes, message: str, place: tuple[int, int]) -> None:
    with pytest.raises(SourceError) as caught:
        read_source(PATH, data)
    assert caught.value.message.startswith(message)
    assert (caught.value.row, caught.value.column) == place


def test_a_file_that_cannot_be_read_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_source(tmp_path / "gone.py")
