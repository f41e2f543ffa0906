"""Input specs: how a user describes example inputs on one line, read without torch.

float32[2,3,224,224]            a tensor for the next positional argument, normally distributed
ids=int64[2,16]:0..30522        the argument `ids`, whole numbers from 0 up to 30521
float32[N,3,32,32]              a named size is free: we choose one
batch.mask=bool[2,16]           the entry (or field) `mask` of the argument `batch`
images.0=float32[3,64,64]       the first element of the list `images`
steps=20   task='caption'       a Python literal
inputs.pt   ids=inputs.pt       saved tensors (read with weights_only), also .npy, .npz and .safetensors
cat.png | prep.py:transform     an image file that goes through a transform (or a factory of one) that the user names
image[224,224] | prep.py:f      a generated image of that height and width; also a text: 'a cat' | prep.py:f
'a cat' | tokenizer:./bert      a text, or a list of them, that goes through the tokenizer in that folder
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from modellint.catalog.document import suggestion

FLOATS = ("float16", "bfloat16", "float32", "float64", "float8_e4m3fn", "float8_e5m2")
COMPLEX = ("complex64", "complex128")
INTEGERS = ("uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64")
DTYPES = (*FLOATS, *COMPLEX, *INTEGERS, "bool")
_ALIASES = {"float": "float32", "double": "float64", "half": "float16", "int": "int64", "long": "int64"}
FILES = (".pt", ".pth", ".npy", ".npz", ".safetensors")
IMAGES = (".png", ".jpg", ".jpeg", ".bmp", ".webp")
TOKENIZER = "tokenizer:"
FREE_SIZE = 3
"""What a named size becomes: odd, so that the batch axis can be told from most others."""

_NAMED = re.compile(r"(?P<name>[^\W\d]\w*(?:\.\w+)*)\s*=(?P<value>.*)", re.DOTALL)
_TENSOR = re.compile(r"(?P<dtype>[A-Za-z]\w*)\s*\[(?P<dims>[^\[\]]*)\](?P<range>\s*:.*)?", re.DOTALL)
_PROCESSED = re.compile(r"(?P<source>.+?)\s*\|\s*(?P<processor>tokenizer:.+|[^|'\"]+:[^\W\d][\w.]*)", re.DOTALL)
_IMAGE = re.compile(r"image\s*\[\s*(?P<height>\d+)\s*,\s*(?P<width>\d+)\s*\]")
_NUMBER = r"[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?)"
_RANGE = re.compile(rf":\s*(?P<low>{_NUMBER})\s*\.\.\s*(?P<high>{_NUMBER})")


class SpecError(ValueError):
    """An input spec cannot be understood; the message is one line and shows the spec."""


@dataclass(frozen=True, slots=True)
class InputSpec:
    """One example input.

    `path` is empty for the next positional argument, else the argument's name followed by keys inside it.
    Exactly one of `dtype` (with `shape`: elements), `file` and `literal` (with `is_literal`) says what it is.
    `low` is inclusive, `high` exclusive; both None: the dtype's own habit. With a `processor`, a target or
    `tokenizer:FOLDER`, the literal, the image file or the generated image (`shape`: height, width) goes through it.
    """

    text: str
    path: tuple[str, ...] = ()
    dtype: str | None = None
    shape: tuple[int, ...] = ()
    low: float | None = None
    high: float | None = None
    file: str | None = None
    literal: Any = None
    is_literal: bool = False
    processor: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Return what crosses to the worker."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> InputSpec:
        """Undo `to_json`."""
        return cls(**{**data, "path": tuple(data["path"]), "shape": tuple(data["shape"])})


def parse_specs(texts: Sequence[str], root: Path) -> tuple[InputSpec, ...]:
    """Read the specs of one target; files count from `root`. Raises `SpecError` at the first wrong one."""
    specs = tuple(parse_spec(text, root) for text in texts)
    seen: set[tuple[str, ...]] = set()
    for spec in specs:
        if spec.path and spec.path in seen:
            raise SpecError(f"input {spec.text!r}: {'.'.join(spec.path)} is given twice")
        seen.add(spec.path)
    return specs


def parse_spec(text: str, root: Path) -> InputSpec:
    """Read one spec; a file counts from `root`. Raises `SpecError`."""
    value, path = text.strip(), ()
    if match := _NAMED.fullmatch(value):
        path = tuple(match["name"].split("."))
        value = match["value"].strip()
    if not value:
        raise SpecError(f"input {text!r}: says nothing; write for example float32[2,3,224,224]")
    if match := _PROCESSED.fullmatch(value):
        return _processed(text, path, match["source"], match["processor"].strip(), root)
    if value.endswith(FILES):
        file = Path(root, value).resolve()
        if not file.is_file():
            raise SpecError(f"input {text!r}: there is no file {value}")
        return InputSpec(text, path, file=str(file))
    if match := _TENSOR.fullmatch(value):
        return _tensor(text, path, match)
    try:
        return InputSpec(text, path, literal=_plain(ast.literal_eval(value)), is_literal=True)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        raise SpecError(
            f"input {text!r}: neither a tensor like 'float32[2,3,224,224]', nor a file ({', '.join(FILES)}), "
            "nor a Python literal"
        ) from None


def _processed(text: str, path: tuple[str, ...], source: str, processor: str, root: Path) -> InputSpec:
    is_tokenizer = processor.startswith(TOKENIZER)
    if is_tokenizer and not Path(root, processor.removeprefix(TOKENIZER)).exists():
        raise SpecError(f"input {text!r}: there is no folder {processor.removeprefix(TOKENIZER)}")
    if not is_tokenizer and source.lower().endswith(IMAGES):
        file = Path(root, source).resolve()
        if not file.is_file():
            raise SpecError(f"input {text!r}: there is no file {source}")
        return InputSpec(text, path, file=str(file), processor=processor)
    if not is_tokenizer and (image := _IMAGE.fullmatch(source)):
        return InputSpec(text, path, shape=(int(image["height"]), int(image["width"])), processor=processor)
    try:
        literal = _plain(ast.literal_eval(source))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        allowed = (
            "a text in quotes" if is_tokenizer else f"image[224,224], an image file ({', '.join(IMAGES)}) or a text"
        )
        raise SpecError(f"input {text!r}: before the bar stands {allowed}") from None
    return InputSpec(text, path, literal=literal, is_literal=True, processor=processor)


def _plain(value: Any) -> Any:
    """Return `value` if it survives JSON; raise ValueError for bytes, sets and complex numbers."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: _plain(item) for key, item in value.items()}
    raise ValueError(value)


def _tensor(text: str, path: tuple[str, ...], match: re.Match[str]) -> InputSpec:
    dtype = _ALIASES.get(match["dtype"], match["dtype"])
    if dtype not in DTYPES:
        raise SpecError(f"input {text!r}: unknown dtype {dtype!r}{suggestion(dtype, DTYPES)}")
    shape = []
    for part in match["dims"].split(",") if match["dims"].strip() else ():
        size = part.strip()
        if size.isascii() and size.isdigit():
            shape.append(int(size))
        elif size in ("?", "*") or size.isidentifier():
            shape.append(FREE_SIZE)
        else:
            raise SpecError(f"input {text!r}: {size!r} is not a size")
    low = high = None
    if match["range"]:
        limits = _RANGE.fullmatch(match["range"].strip())
        if not limits:
            raise SpecError(f"input {text!r}: {match['range'].strip()!r} is not a range like ':0..30522'")
        low, high = float(limits["low"]), float(limits["high"])
        if low >= high:
            raise SpecError(f"input {text!r}: the range is empty ({limits['low']} is not below {limits['high']})")
    return InputSpec(text, path, dtype, tuple(shape), low, high)
