"""Arguments of calls: found by name or position, set with the layout of their neighbours."""

from __future__ import annotations

import libcst as cst


def argument(call: cst.Call, name: str, position: int | None = None) -> cst.Arg | None:
    """Return the argument that is given by `name`, or stands at `position` (0-based); None where stars hide it."""
    for arg in call.args:
        if arg.keyword is not None and arg.keyword.value == name:
            return arg
    if position is None or position >= len(call.args):
        return None
    plain = call.args[: position + 1]
    return plain[-1] if all(not arg.star and arg.keyword is None for arg in plain) else None


def has_stars(call: cst.Call) -> bool:
    """Tell whether a `*` or `**` argument may hold any other one."""
    return any(arg.star for arg in call.args)


def with_argument(call: cst.Call, name: str, value: cst.BaseExpression, position: int | None = None) -> cst.Call:
    """Return `call` with the argument `name` set to `value`, appended as a keyword where it was not given."""
    known = argument(call, name, position)
    if known is not None:
        args = [arg.with_changes(value=value) if arg is known else arg for arg in call.args]
        return call.with_changes(args=args)
    fresh = cst.Arg(
        value,
        keyword=cst.Name(name),
        equal=cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace("")),
    )
    if not call.args:
        return call.with_changes(args=[fresh])
    *others, last = call.args
    start = call.whitespace_before_args
    if not isinstance(start, cst.ParenthesizedWhitespace):
        comma = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
        args = [*others, last.with_changes(comma=comma), fresh.with_changes(comma=last.comma)]
        return call.with_changes(args=args)
    # one argument a row: comments stay with theirs, the new row is indented like the first
    row = cst.ParenthesizedWhitespace(indent=start.indent, last_line=start.last_line)
    after = last.comma.whitespace_after if isinstance(last.comma, cst.Comma) else None
    if isinstance(after, cst.ParenthesizedWhitespace):
        kept = after.with_changes(last_line=start.last_line, indent=start.indent, empty_lines=[])
        end = after.with_changes(first_line=cst.TrailingWhitespace())
        last = last.with_changes(comma=cst.Comma(whitespace_after=kept))
        fresh = fresh.with_changes(comma=cst.Comma(whitespace_after=end))
    else:
        behind = last.whitespace_after_arg
        last = last.with_changes(comma=cst.Comma(whitespace_after=row), whitespace_after_arg=cst.SimpleWhitespace(""))
        fresh = fresh.with_changes(whitespace_after_arg=behind)
    return call.with_changes(args=[*others, last, fresh])
