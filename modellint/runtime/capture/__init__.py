"""The capture ladder: producers of a `Trace`. Imported by the worker only; needs torch."""
