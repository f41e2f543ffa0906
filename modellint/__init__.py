"""modellint: prove that a PyTorch model's inference is what its author thinks it is."""

__version__ = "0.1.0"
