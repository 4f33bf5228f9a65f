"""The page about the tables of `kgroup spark coordination`, written from their declaration.

Decides: how a table reads for a person.
Never: adds a column; a test compares the page with `docs/`.
"""

from collections.abc import Iterator

from kgroup.spark.coordination.declared import TABLES
from kgroup.spark.coordination.schema import Layer, Table
from tests.pages.coordination_queries import QUERIES

_INTRO = """\
# The tables of coordination logs

This page is generated from `kgroup/spark/coordination/declared.py`.
Do not edit it: `python -m tests.pages` writes it, and a test compares it.

[What groups did](what-groups-did.md) says how they are made.
Times are milliseconds since the epoch (`timestamp_millis(from_ts)` in Spark), ids of topics are
written as Kafka prints them.
A column that does not apply is null.

The queries take each table for a view of its name:

```python
for path in Path("groups").glob("[a-z]*"):
    spark.read.parquet(str(path)).createOrReplaceTempView(path.name)
```
"""

_LAYERS = {
    Layer.BRONZE: "Bronze is what the logs hold.",
    Layer.SILVER: "Silver says the same in columns. It only grows.",
    Layer.GOLD: "Gold is made anew for the log partitions that changed.",
    Layer.LIVE: "What `--stream --alarms` tells while it reads. It only grows.",
}


def coordination_page() -> str:
    """Return the page as Markdown."""
    return "\n".join([*_page(), ""])


def _page() -> Iterator[str]:
    yield _INTRO
    for layer, about in _LAYERS.items():
        yield f"## {layer.value.capitalize()}\n\n{about}\n"
        for table in TABLES.values():
            if table.layer is layer:
                yield from _table(table)


def _table(table: Table) -> Iterator[str]:
    yield f"### `{table.name}`\n\nA row is {table.about}.\n"
    yield "| column | type | says |\n|---|---|---|"
    for name, kind, about in table.columns:
        yield f"| `{name}` | `{kind.value}` | {about} |"
    yield ""
    for question, query in QUERIES[table.name]:
        yield f"- {question}\n  `{query}`" if "`" not in query else f"- {question}\n  ``{query}``"
    yield ""
