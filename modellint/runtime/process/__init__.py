"""Child processes: the fork server, the limits on a child, and the parent's side of the protocol."""
