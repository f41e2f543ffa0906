"""Files that hold a model: read, never run. Each reader fills the `Trace` that the rules read."""
