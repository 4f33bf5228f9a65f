"""Clients that are not honest: `python -m tests.bench.liars forgetful`."""

import json
import sys

from kgroup.bench.clients.following import Following
from kgroup.bench.clients.native import Native
from kgroup.bench.clients.serving import serve
from kgroup.bench.clients.tally import Tally


class Dropping(Following):
    """Loses one record on its way.

    Args:
        told: what the adapter tells.
    """

    def __init__(self, told):
        super().__init__(lambda _kind, _what: None)
        self._told = told
        self.over = told.over

    async def watch(self, sleep):
        await self._told.watch(sleep)

    def took(self, records):
        self._told.took(each for each in records if each[:2] != (0, 3))


class Stammering(Dropping):
    """Tells of each record twice."""

    def took(self, records):
        given = [*records]
        self._told.took(given)
        self._told.took(given)


class Repeating(Native):
    """Delivers each record twice."""

    def follow(self, job, told):
        super().follow({**job, "level": "range"}, Stammering(told))


class Leaking(Tally):
    """Loses the first record it is given."""

    def add_records(self, records):
        kept = [*records]
        super().add_records(kept if self.records else kept[1:])


class Leaky(Native):
    """Loses a record of the topic it reads."""

    def read(self, job, run):
        run.tally = Leaking(proof=job["proof"])
        super().read({**job, "level": "records"}, run)


class Impatient:
    """Standard input without a word of waiting.

    Args:
        lines: as they come.
    """

    def __init__(self, lines):
        self._lines = lines

    def readline(self):
        return json.dumps({**json.loads(self._lines.readline()), "hold": False})

    def __iter__(self):
        return iter(self._lines)


class Forgetful(Native):
    """Loses the record at offset 3 of partition 0."""

    def follow(self, job, told):
        super().follow({**job, "level": "range"}, Dropping(told))


def boast():
    """Say that all was read, with all sums that can be known without reading."""
    job = json.loads(sys.stdin.readline())
    records, share = job["records"], job["records"] // 8
    mark = {"at": 1.0, "cpu_s": 0.001}
    seen = {"records": records, "offset_sum": 8 * (share * (share - 1) // 2),
            "value_bytes": 100 * records, "crc_sum": 1 if job["proof"] else None}  # fmt: skip
    found = {"began": mark, "first_at": 1.0, "first_records": 1,
             "ended": {"at": 2.0, "cpu_s": 0.002}, "seen": seen}  # fmt: skip
    print(json.dumps({"result": {"passes": [found], "rss_bytes": 1}}))


if __name__ == "__main__":
    match sys.argv[1]:
        case "boastful":
            boast()
        case "silent":
            print("no JSON at all", flush=True)
            sys.stdin.read()
        case "hasty":
            print(json.dumps({"result": {"passes": 7}}), flush=True)
        case "confused":
            print(json.dumps({"got": "everything"}), flush=True)
            sys.stdin.read()
        case "deaf":
            while True:
                sys.stdin.readline()
        case "eager":
            sys.stdin = Impatient(sys.stdin)
            serve(lambda job: Native({**job, "loop": "asyncio"}))
        case which:
            kind = {"repeating": Repeating, "leaky": Leaky}.get(which, Forgetful)
            serve(lambda job: kind({**job, "loop": "asyncio"}))
