"""`modellint trace`: inspect models by running them in child processes."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from modellint.catalog import ActiveRule, load_rules
from modellint.diagnostic import to_dict
from modellint.runtime import Request, trace_targets

@click.command()
@click.argument("targets", nargs=-1)
@click.option("--input", "inputs", multiple=True)
@click.option("--mode", default="as-is")
@click.option("--method")
@click.option("--timeout", default=300.0)
@click.option("--isolated", is_flag=True)
@click.option("--output-format", default="text")
def trace(targets, inputs, mode, method, timeout, isolated, output_format):
    rules = {code: ActiveRule.default(rule) for code, rule in load_rules().items() if rule.enabled}
    out = []
    status = 0
    for report in trace_targets([Request(t, inputs, mode, method, timeout) for t in targets], rules):
        if report.problem:
            print("modellint:", report.problem, file=sys.stderr)
            status = 2
        out += report.diagnostics
    print(json.dumps([to_dict(d) for d in out], indent=1))
    sys.exit(status or int(any(d.severity.value != "info" for d in out)))
if __name__ == "__main__": trace()
