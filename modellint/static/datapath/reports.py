"""How a finding about what data meets on its way tells where the data arrives."""

from __future__ import annotations

from modellint.static.flow.values import Site


def arrival(site: Site, place: Site, message: str) -> tuple[tuple[Site, str], ...]:
    """Return the related place of a finding at `site`; none where it is on the same row."""
    return () if place.row == site.row else ((place, message),)
