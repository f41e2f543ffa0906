"""What runs in the child process: load the target, make its inputs, capture, put everything back."""
