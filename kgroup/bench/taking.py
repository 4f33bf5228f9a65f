"""Takes apart what a file of a scenario says; knows the file, for its errors.

Decides: that a number has bounds beyond which no machine measures anything.
Never: says what the keys mean.
"""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from difflib import get_close_matches
from typing import Any, Final

from kgroup.errors import ConfigError
from kgroup.values import dataclass

_MOST: Final = {
    "runs": 100,
    "members": 1_000,
    "partitions": 10_000,
    "member_partitions": 10_000,
    "value_bytes": 900_000,
    "batch": 10_000,
    "rate": 1_000_000,
    "commits": 1_000_000,
    "claims": 10_000,
    "records": 10**9,
    "share": 10**6,
    "seed": 2**63,
    "limit_s": 86_400,
}
"""Name of a number -> the most it may be; a value has to fit into a request of 1 MB."""
_SECONDS: Final = 3_600
"""The most of all others, which are times."""


@dataclass(frozen=True, slots=True)
class Reader:
    """One file.

    Args:
        file: its name.
    """

    file: str

    def wrong(
        self, key: str, value: object, expected: str, nearest: str | None = None
    ) -> ConfigError:
        """Return the error about a key; the caller raises it."""
        return ConfigError(f"{self.file}: {key}", value, expected, nearest=nearest)

    def only(self, found: object, known: Sequence[str], where: str) -> dict[str, Any]:
        """Return a table that has no other keys."""
        if not isinstance(found, dict):
            raise self.wrong(where, found, f"a table of {', '.join(known)}")
        for key in found:
            if key not in known:
                full = f"{where}.{key}" if where else key
                near = next(iter(get_close_matches(key, known, 1)), None)
                raise self.wrong(full, found[key], f"one of {', '.join(known)}", near)
        return found

    def text(self, table: Mapping[str, object], key: str, where: str = "") -> str:
        """Return a text that is not empty."""
        found = table.get(key)
        if not isinstance(found, str) or not found:
            raise self.wrong(f"{where}{key}", found, "a text")
        return found

    def one_of(self, found: object, key: str, known: Sequence[int]) -> int:
        """Return one of some numbers."""
        if isinstance(found, bool) or not isinstance(found, int) or found not in known:
            raise self.wrong(key, found, " or ".join(map(str, known)))
        return found

    def tables(self, found: Mapping[str, object], key: str) -> list[object]:
        """Return the tables of a list, none when there is no such key."""
        tables = found.get(key, [])
        if not isinstance(tables, list):
            raise self.wrong(key, tables, f"a list of tables, [[{key}]]")
        return tables

    def words(self, found: object, key: str, known: Sequence[str] = ()) -> tuple[str, ...]:
        """Return a list of texts, of which each is known and stands once."""
        if not isinstance(found, list) or not found:
            raise self.wrong(key, found, "a list of texts")
        for word in found:
            if not isinstance(word, str) or (known and word not in known):
                raise self.wrong(key, word, f"one of {', '.join(known)}" if known else "a text")
        self.once(found, key)
        return tuple(found)

    def once(self, found: Sequence[object], key: str) -> None:
        """Refuse what stands twice in a list: it would be measured under one name."""
        for place, each in enumerate(found):
            if each in found[:place]:
                raise self.wrong(key, each, "each of the list once")

    def numbers(self, found: object, kind: type, where: str) -> dict[str, Any]:
        """Return a table of what stands in a dataclass as numbers; all are above 0."""
        known = {each.name: each.type for each in fields(kind) if each.type in {int, float}}
        table = self.only(found, (*known,), where)
        for key, value in table.items():
            whole = known[key] is int
            fair = isinstance(value, int if whole else int | float) and not isinstance(value, bool)
            most = _MOST.get(key, _SECONDS)
            if not fair or not 0 < value <= most:
                expected = f"a {'whole ' if whole else ''}number above 0, at most {most:,}"
                raise self.wrong(f"{where}.{key}", value, expected)
        return table
