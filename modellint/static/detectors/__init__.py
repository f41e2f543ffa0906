"""One file a detector; the name in a rule's `detect.detector` is the file's, with dashes."""
