"""One broker of the cluster, as the others see it.

Decides: nothing.
Never: knows topics or connections.
"""

from dataclasses import dataclass

__all__ = ["Node"]


@dataclass(slots=True)
class Node:
    """One broker.

    Args:
        node_id: 1 to n.
        host: name of its listener; whoever opens the listener may set it.
        port: of its listener.
        rack: broker.rack, None without one.
        alive: whether the process runs; one that is not answers nothing.
        fenced: whether the controller knows that it is down: until then a dead broker is still
            named in answers (`broker_facts.md` F1).
        skew: seconds by which its clock is ahead.
    """

    node_id: int
    host: str
    port: int = 9092
    rack: str | None = None
    alive: bool = True
    fenced: bool = False
    skew: float = 0.0
