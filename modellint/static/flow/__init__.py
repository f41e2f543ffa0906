"""The flow engine: interprets a project's code over mode, weights and gradient states, and notes every forward."""
