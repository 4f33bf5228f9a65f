"""Exchanges that were not recorded, rebuilt from the notes of a trace."""

from tests.testing.broker.traces.recorded import Exchange, Trace

__all__ = ["polls_of"]


def polls_of(trace: Trace) -> list[Exchange]:
    """Rebuild the polling connections of a trace."""
    return []
