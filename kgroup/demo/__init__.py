"""The demo: a group of consumers on a Kafka, watched, disturbed, and judged by its logs.

Decides: how it is called.
Never: imports its own parts at once: each member's process goes through here on its way to
`kgroup.demo.member`, and needs none of them.

- `board`: What is known of the group at one moment: an immutable board, and how news change it
- `claims`: A Marshal group beside the demo's group, whose positions are set while it runs
- `crew`: The members' processes: started, heard, killed, closed, and none left behind
- `damage`: Damage to what a demo leaves, for a look at each check in red
- `handled`: What a group handled, as one table: what its query wrote, and what its members took
- `member`: One member of the demo's group: `python -m kgroup.demo.member '{"label": "m1", ...}'`
- `query`: A Spark query as a member of the demo's group; it loses an executor
- `runner`: One run of the demo: topic, stream, members, disturbances, drain, and the logs that
  are left
- `scenario`: What happens in the demo, and when: data, decided before anything is started
- `show`: The demo from its first word to its exit code
- `view`: How the demo looks: a live table on a terminal, or plain lines
- `with_spark`: The demo with a Spark query in its group, and a Marshal group beside it; then all
  checks are run
- `which_kafka`: What a run of the demo takes place on
"""

from kgroup.demo.which_kafka import WhichKafka

__all__ = ["WhichKafka", "run"]


def run(
    *,
    seconds: float = 45.0,
    members: int = 3,
    tty: bool = True,
    kafka: WhichKafka = WhichKafka.AUTO,
    as_json: bool = False,
) -> int:
    """Run the demo and return its exit code: 0 only if the verdict is clean.

    Args:
        seconds: how long the group works after it has settled.
        members: how many it starts with, at least 2.
        tty: draw a live view; False prints lines. Without a terminal lines are printed anyway.
        kafka: what it takes place on.
        as_json: print one document of JSON in the end, and all else on standard error.

    Raises:
        UnsupportedError: no real Kafka can be had here though one is asked for; it names the ways
            to have one.
        KGroupError: a member ended by itself, or the broker refused.
        TimeoutError: something did not happen in time.
    """
    from kgroup.demo.show import run_demo  # noqa: PLC0415 - a member's process does not need it

    return run_demo(seconds=seconds, members=members, tty=tty, kafka=kafka, as_json=as_json)
