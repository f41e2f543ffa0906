"""One file a fixer; the name in a rule's `fix.fixer` is the file's, with dashes."""
