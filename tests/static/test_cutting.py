"""What a function wants of a result: nothing but that it leaves the graph, or more."""

from __future__ import annotations

from pathlib import Path

import pytest

from modellint.static.cutting import is_only_detached
from modellint.static.project import Project


def cut(tmp_path: Path, *lines: str) -> bool:
    path = tmp_path / "app.py"
    path.write_text("def f(net, x, out):\n" + "".join(f"    {line}\n" for line in lines))
    module = Project(tmp_path).load(path, path, "calls")
    assert module is not None
    (function,) = module.functions
    return is_only_detached(function, next(call for call in function.calls_of("net")))


@pytest.mark.parametrize(
    "lines",
    [
        ["return net(x)"],
        ["y = net(x)", "return y.detach(), y"],
        ["y = net(x)", "last = y[-1]", "return last.detach(), y.sum()"],
        ["y = net(x)", "y = y[0]", "return x"],
        ["y = net(x)", "print(y.shape)"],
        ["p, v = net(x)", "return p.detach(), v"],
        ["p, out.v = net(x)", "return p.detach()"],
        ["(p, h), v = net(x)", "return v.detach()"],
        ["_, _ = net(x)"],
        ["y = net(x)", "print(y.detach())", "y = y[0]", "return y"],
        ["y = net(x)", "z = y", "y = y.detach()", "return y, z"],
        ["y = net(x)", "if x: y = y.detach()", "return y"],
        ["y = net(x)", "out.y = y.detach()", "return y"],
        ["if x: y = net(x)", "else: y = net(x).detach()", "return y"],
    ],
)
def test_what_is_wanted_with_its_graph_or_not_at_all(tmp_path: Path, lines: list[str]) -> None:
    assert not cut(tmp_path, *lines)


@pytest.mark.parametrize(
    "lines",
    [
        ["return net(x).detach()"],
        ["y = net(x)", "print(y.shape)", "return y.cpu().data.numpy()"],
        ["last = net(x)[-1]", "out[0] = last.detach()"],
        ["y = net(x)", "y = y[0]", "return y.detach()"],
        ["p, v = net(x)", "return p.data.numpy(), v.data.numpy()"],
        ["_, v = net(x)", "return v.detach()"],
        ["y = net(x)", "y = y.detach()", "return y"],
        ["if x:", "    y = net(x)", "    y = y.detach()", "return y"],
        ["for x in out:", "    y = net(x)", "    y = y[0]", "    y = y.data", "    print(y)"],
    ],
)
def test_what_is_wanted_without_its_graph(tmp_path: Path, lines: list[str]) -> None:
    assert cut(tmp_path, *lines)
