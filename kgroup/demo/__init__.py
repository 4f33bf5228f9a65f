"""The demo: a group of consumers on a Kafka, watched, disturbed, and judged by its logs.

Decides: how it is called.
Never: imports its own parts at once: each member's process goes through here on its way to
`kgroup.demo.member`, and needs none of them.
"""

from kgroup.demo.which_kafka import WhichKafka

__all__ = ["WhichKafka", "run"]


def run(
    *,
    seconds: float = 45.0,
    members: int = 3,
    tty: bool = True,
    kafka: WhichKafka = WhichKafka.AUTO,
) -> int:
    """Run the demo and return its exit code: 0 only if the verdict is clean.

    Args:
        seconds: how long the group works after it has settled.
        members: how many it starts with, at least 2.
        tty: draw a live view; False prints lines. Without a terminal lines are printed anyway.
        kafka: what it takes place on.

    Raises:
        UnsupportedError: no real Kafka can be had here though one is asked for; it names the ways
            to have one.
        KGroupError: a member ended by itself, or the broker refused.
        TimeoutError: something did not happen in time.
    """
    from kgroup.demo.show import run_demo  # noqa: PLC0415 - a member's process does not need it

    return run_demo(seconds=seconds, members=members, tty=tty, kafka=kafka)
