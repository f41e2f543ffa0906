"""What runs undisturbed gives what it gives, and leaves the interpreter as it was."""

from __future__ import annotations

import gc
import sys

import pytest

from modellint.static.undisturbed import undisturbed

resource = pytest.importorskip("resource")  # not on Windows


def _deep(levels: int) -> int:
    return levels if levels == 0 else _deep(levels - 1) + 1


def _up_and_down() -> int:
    """Cross every depth of a range that is wider than one of the interpreter's chunks, and come back, many times."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for start in range(400):
        _from(start)
    return int(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)


def _from(levels: int) -> None:
    if levels:
        _from(levels - 1)
    else:
        for _ in range(100):
            _deep(3)


def test_what_it_returns_and_raises() -> None:
    assert undisturbed(lambda: _deep(900)) == 900
    with pytest.raises(ZeroDivisionError):
        undisturbed(lambda: 1 // 0)


def test_deep_recursion_is_allowed_meanwhile_and_not_afterwards() -> None:
    limit = sys.getrecursionlimit()
    assert undisturbed(lambda: _deep(limit + 500)) == limit + 500
    assert sys.getrecursionlimit() == limit


@pytest.mark.parametrize("collecting", [True, False])
def test_the_collector_rests_meanwhile(collecting: bool) -> None:
    before = gc.isenabled()
    try:
        (gc.enable if collecting else gc.disable)()
        assert undisturbed(gc.isenabled) is False
        assert gc.isenabled() is collecting
    finally:
        (gc.enable if before else gc.disable)()


def test_calls_that_come_and_go_map_no_memory() -> None:
    plain = _up_and_down()
    if plain < 500:
        pytest.skip("this interpreter keeps its chunks")
    assert undisturbed(_up_and_down) < plain / 5
