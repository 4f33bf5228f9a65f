"""The `kgroup` command.

Decides: how a missing extra is reported to a person.
Never: imports typer or rich itself, so that the message can be given without them.

- `app`: The verbs of the `kgroup` command, put together
- `assignors`: `kgroup assignors`: which assignors there are, and what each would do to a group
- `assignors_check`: `kgroup assignors check`: one assignor, held to what every assignor promises
- `assignors_live`: A live group as the beginning of a simulation
- `assignors_shown`: How a simulation looks: one table in which the assignors stand beside each
  other at each event
- `audit`: `kgroup audit`: the verdict on a run, from its members' event logs
- `bench`: `kgroup bench`: what clients and rebalances cost, measured, compared and shown
- `bench_progress`: How far `kgroup bench` is, on standard error
- `bench_shown`: What `kgroup bench` shows: tables of results and comparisons, and the files of a
  report
- `broker`: `kgroup broker up|down|status`: a real Kafka on this machine, for one's own
  experiments
- `connecting`: How a verb reaches its cluster: the options all of them share, and one connection
  for one verb
- `consume`: `kgroup consume`: print the records of topics, alone or as a member of a group
- `consuming`: Reads topics for `kgroup consume`: where it begins, what is printed, and when it is
  over
- `demo`: `kgroup demo`: a group of consumers on a Kafka, watched, disturbed and audited
- `groups`: `kgroup groups`: what groups there are, their members, and removing members and groups
- `groups_offers`: `kgroup groups offers`: what the members of a live group list, and whether a
  plan would work
- `lag`: `kgroup lag`: how far a group is behind, once or watched
- `marshal`: `kgroup marshal init`, `state` and `watch`: the coordination topic, and what its log
  says
- `marshal_admin`: `kgroup marshal release`, `pause`, `resume` and `set-positions`: what changes a
  group
- `marshal_hint`: What is said of a group that claims its partitions in a log, where it looks like
  an empty one
- `marshal_shown`: What `kgroup marshal` shows of a log of claims, and of its topic
- `marshal_targets`: Which positions `kgroup marshal set-positions` is to set, as they are typed
- `printing`: How records of `kgroup consume` leave the process: lines on standard output, a rate
  beside it
- `produce`: `kgroup produce`: write lines as records, to try things out
- `spark`: `kgroup spark verify`: what a table lacks of a topic and has too much
- `spark_coordination`: `kgroup spark coordination`: what groups did, as tables
- `spark_audit`: `kgroup spark audit`: the verdict on a whole fleet, from event logs
- `spark_demo`: `kgroup spark demo`: the demo's group and a Spark query, then every check
- `spark_report`: `kgroup spark report`: what happened to one group, as a page
- `tables`: How answers look on a screen: plain tables, numbers to the right, no frames
- `topics`: `kgroup topics`: what topics there are, and making and deleting them
- `verbs`: How a verb's options become its command line
"""

import sys
from collections.abc import Sequence

from kgroup.errors import MissingExtraError

__all__ = ["main"]

_INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code: 2 when the extra `cli` is not installed.

    Args:
        arguments: the words after `kgroup`; None takes those of the process.
    """
    words = sys.argv[1:] if arguments is None else arguments
    try:
        from kgroup.cli.app import run  # noqa: PLC0415

        return run(words)
    except KeyboardInterrupt:
        return _INTERRUPTED
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in {"typer", "rich"}:
            raise
        print(MissingExtraError("the kgroup command", "cli"), file=sys.stderr)
        return 2
