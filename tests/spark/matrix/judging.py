"""`kgroup spark verify` on what was sunk and handled.

Decides: what is judged. A sink alone is given to the command as its user would; where plain members
have handled records too, all together must hold each record, and no sink any twice.
"""

import io
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from kgroup.cli.connecting import Common
from kgroup.cli.spark import Asked, judged
from kgroup.spark.verdict import TableVerdict
from tests.spark.matrix.sunk import Seen, Sink

_VIEW: Final = "sunk_or_handled"
_SHOWN: Final = 5


@dataclass(frozen=True, slots=True)
class Case:
    """What is judged.

    Args:
        spark: the session that looks.
        bootstrap: of the brokers.
        topic: its name.
        group: whose commits must not be ahead.
        folder: for a table of what was handled.
        sinks: folder of each sink, and its rows by its own log.
        handled: by plain members.
    """

    spark: Any
    bootstrap: str
    topic: str
    group: str
    folder: Path
    sinks: Mapping[Path, Sink]
    handled: Sequence[Seen]


def judge(case: Case) -> tuple[dict[str, Any], list[str]]:
    """Return numbers for the ledger, and what is wrong."""
    problems: list[str] = []
    rows: dict[str, int] = {}
    for path, sink in case.sinks.items():
        seen = sink.seen()
        if doubled := seen.doubled():
            problems.append(f"{path.parent.name}: {len(doubled)} twice: {doubled[:_SHOWN]}")
        rows[path.parent.name] = seen.rows()
    handled = sum(seen.rows() for seen in case.handled)
    alone = len(case.sinks) == 1 and not handled
    verdict = _verified(case, str(next(iter(case.sinks))) if alone else _together(case))
    problems += [f"{f.kind.value} {f.tp}: {f.text} {f.examples}" for f in verdict.findings]
    found = {
        "verify": "clean" if verdict.clean else "not clean",
        "records": sum(row.bounds.size for row in verdict.partitions),
        "rows": sum(row.rows for row in verdict.partitions),
        "lost": sum(row.lost for row in verdict.partitions),
        "doubled": sum(row.doubled for row in verdict.partitions),
        "committed": sum(row.committed or 0 for row in verdict.partitions),
        "ahead": sum(row.ahead or 0 for row in verdict.partitions),
        "sunk": rows,
        "handled": handled,
    }
    return found, problems


def _verified(case: Case, table: str) -> TableVerdict:
    columns = "partition,offset" if table == _VIEW else "topic,partition,offset"
    asked = Asked(table=table, topic=case.topic, group=case.group, columns=columns)
    with redirect_stderr(io.StringIO()):
        return judged(asked, Common(bootstrap=case.bootstrap, timeout=30.0))


def _together(case: Case) -> str:
    """Return the name of a view of each place that was sunk or handled, once."""
    paths = [str(path) for path, sink in case.sinks.items() if sink.last() >= 0]
    paths += [str(path) for path in _handled(case)]
    frames = [case.spark.read.parquet(path).select("partition", "offset") for path in paths]
    whole = frames[0]
    for frame in frames[1:]:
        whole = whole.union(frame)
    whole.distinct().createOrReplaceTempView(_VIEW)
    return _VIEW


def _handled(case: Case) -> list[Path]:
    import pyarrow as pa  # noqa: PLC0415 - an extra
    from pyarrow import parquet  # noqa: PLC0415

    paths: list[Path] = []
    for number, seen in enumerate(case.handled):
        partitions, offsets = seen.columns()
        if partitions:
            columns = {
                "partition": pa.array(partitions, pa.int32()),
                "offset": pa.array(offsets, pa.int64()),
            }
            path = case.folder / f"handled-{number}.parquet"
            parquet.write_table(pa.table(columns), path)
            paths.append(path)
    return paths
