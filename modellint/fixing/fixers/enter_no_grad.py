"""Enter the context manager that was only made, or only named: `torch.no_grad()` becomes `with torch.no_grad():`.

And freeze what was only marked: `model.requires_grad = False` becomes `model.requires_grad_(False)`.
"""

from __future__ import annotations

import libcst as cst

from modellint.catalog import Rule
from modellint.diagnostic import Diagnostic
from modellint.fixing.blocks import rest_of_block, with_block
from modellint.fixing.document import Change, Document
from modellint.fixing.names import TRAINING, holds, last_name, spelled, words


def fix(document: Document, finding: Diagnostic, rule: Rule) -> Change | None:
    """Add the missing call to a `with`; make a statement the head of a block over what comes behind it."""
    assignment = document.at(finding.span, cst.Assign)
    if assignment is not None:
        return _frozen(document, assignment)
    node = document.at(finding.span, cst.BaseExpression)
    if node is None:
        return None
    parent = document.parent(node)
    if isinstance(parent, cst.BooleanOperation):
        return _one_after_the_other(document, parent)
    if isinstance(parent, cst.WithItem):
        written = document.module.code_for_node(node)
        return Change(document.replaced(node, cst.Call(node)), f"Call it: `with {written}()`", safe=True)
    line = document.parent(parent)
    if (
        not isinstance(parent, (cst.Expr, cst.Assign))
        or not isinstance(line, cst.SimpleStatementLine)
        or len(line.body) > 1
    ):
        return None
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Call):
        return _around_argument(document, node, line)
    if document.block(line) is document.module and document.cell(line) is None:
        return _for_the_program(document, node, line)
    rest = rest_of_block(document, line)
    while rest and not holds(rest[-1], cst.Call):
        rest.pop()  # nothing is computed there any more
    if not rest or words(*rest) & TRAINING or any(holds(s, cst.Yield, cst.FunctionDef, cst.ClassDef) for s in rest):
        return None
    manager = node if isinstance(node, cst.Call) else cst.Call(node)
    module = with_block(document, manager, rest, head=line)
    if module is None:
        return None
    return Change(module, f"Make it a block: `with {document.module.code_for_node(manager)}:`")


def _one_after_the_other(document: Document, joined: cst.BooleanOperation) -> Change | None:
    """Enter both: `with torch.no_grad() and other() as x:` becomes `with torch.no_grad(), other() as x:`."""
    item = document.parent(joined)
    block = document.parent(item) if isinstance(item, cst.WithItem) else None
    if not isinstance(item, cst.WithItem) or not isinstance(block, cst.With) or block.asynchronous is not None:
        return None
    if "#" in document.module.code_for_node(joined):
        return None  # a comment between the two
    number = block.items.index(item)
    both = [cst.WithItem(joined.left), item.with_changes(item=joined.right)]
    module = document.replaced(
        block, block.with_changes(items=[*block.items[:number], *both, *block.items[number + 1 :]])
    )
    return Change(
        module, f"Enter both: `with {', '.join(map(document.module.code_for_node, (joined.left, joined.right)))}`"
    )


def _around_argument(document: Document, node: cst.Call, line: cst.SimpleStatementLine) -> Change | None:
    """Make a block over what is given: `torch.no_grad()(model(x))` becomes `with torch.no_grad(): model(x)`."""
    if len(node.args) != 1 or node.args[0].keyword is not None or node.args[0].star:
        return None
    body = cst.IndentedBlock([line.with_changes(body=[cst.Expr(node.args[0].value)], leading_lines=[])])
    block = cst.With([cst.WithItem(node.func)], body, leading_lines=line.leading_lines)
    return Change(
        document.replaced(line, block), f"Make it a block: `with {document.module.code_for_node(node.func)}:`"
    )


def _frozen(document: Document, assignment: cst.Assign) -> Change | None:
    """Call the method instead of `model.requires_grad = False`: what is trained then changes."""
    target = assignment.targets[0].target
    if len(assignment.targets) > 1 or not isinstance(target, cst.Attribute):
        return None
    call = cst.Call(target.with_changes(attr=cst.Name("requires_grad_")), [cst.Arg(cst.Name("False"))])
    title = f"Freeze it: `{document.module.code_for_node(call)}`"
    return Change(document.replaced(assignment, cst.Expr(call)), title)


def _for_the_program(document: Document, node: cst.BaseExpression, line: cst.SimpleStatementLine) -> Change | None:
    """At the top of a file the switch was meant for all of it."""
    if last_name(node) == "enable_grad" or words(document.module) & TRAINING:
        return None
    name = spelled(document, "torch.set_grad_enabled", line)
    if name.rewrites:
        return None
    call = cst.parse_expression(f"{name.text}(False)")
    return Change(document.replaced(node, call), f"Switch autograd off: `{name.text}(False)`")
