"""Which files are worth parsing, decided on their bytes."""

from __future__ import annotations

from collections.abc import Iterable

_SPOKEN = (
    *(b".eval()", b".train()", b".zero_grad()", b".backward()", b".load_state_dict(", b"no_grad()"),
    *(b".to(device)", b".to(self.device)", b".cuda()", b".cpu()", b".detach()", b"volatile=True"),
    *(b".softmax(", b".sigmoid()", b".argmax(", b".topk(", b".unsqueeze(", b".logits", b"drop_last"),
)
"""What speaks of torch without its name: a trainer, or a service, may import only the modules of its own project."""


class Prefilter:
    """Screens files: `roots` are the import names of the known libraries, `triggers` the words of each rule.

    The triggers of a rule are alternatives, each a group of words that all have to be there; a rule without
    triggers may fire in any file that names a library.
    """

    def __init__(self, roots: Iterable[str], triggers: Iterable[Iterable[Iterable[str]]]) -> None:
        self._roots = tuple(sorted({root.encode() for root in roots}, key=lambda root: (root != b"torch", root)))
        self._spoken = b"torch" in self._roots
        groups: set[tuple[bytes, ...]] = set()
        self._always = False
        for alternatives in triggers:
            encoded = [tuple(word.encode() for word in group) for group in alternatives]
            self._always |= not encoded
            groups.update(encoded)
        self._groups = tuple(sorted(groups, key=lambda group: (len(group), group)))

    def wants(self, data: bytes) -> bool:
        """Tell whether a rule could fire in a file with these bytes."""
        if not any(root in data for root in self._roots) and not (self._spoken and any(s in data for s in _SPOKEN)):
            return False
        return self._always or any(all(word in data for word in group) for group in self._groups)
