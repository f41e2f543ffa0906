"""One file a detector: `detect(context, rule)` yields findings."""
