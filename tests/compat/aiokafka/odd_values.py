"""Odd values for each keyword of the constructor, and where the facade differs about them.

What works with aiokafka works here, so each row but one is a refusal: aiokafka's constructor takes
nearly everything, and what cannot be used fails in `start()`, at the first request, or for ever in
silence. A row names the place in `docs/drop-in.md` that says so.
"""

import math
import ssl
from collections.abc import Callable, Collection
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Real
from typing import Any, Final

from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.errors import UnsupportedSaslMechanismError

from kgroup.compat.aiokafka.keywords import DEFAULTS

ODD: Final[tuple[Any, ...]] = (
    None, True, False,
    0, 1, -1, 2**31 - 1, 2**31, 2**63, 10**30,
    0.0, 0.5, 1e3, -1.5, math.nan, math.inf, -math.inf, Decimal(5), Fraction(1, 2), 1j,
    "", " ", "x", "5", "a:1", "a:1,b:2", "a:port", "::1", "é", "a b", "a\n", "a\x00", "\ud800",
    "x" * 300,
    "earliest", "LATEST", "PLAINTEXT", "SSL", "SASL_SSL", "read_committed", "PLAIN",
    "SCRAM-SHA-512",
    "GSSAPI", "OAUTHBEARER", "range",
    b"", b"x", (), [], {}, set(), ["a:1"], ("a",), [1], {"a:1": 1}, frozenset({"a:1"}),
    object, object(), len, str.encode,
    RangePartitionAssignor, (RangePartitionAssignor,), [RangePartitionAssignor] * 2,
)  # fmt: skip

_PASSWORD: Final = {"sasl_plain_username": "alice", "sasl_plain_password": "wonder"}
_SASL: Final = {"security_protocol": "SASL_PLAINTEXT"}

CONTEXTS: Final[dict[str, dict[str, Any]]] = {
    "alone": {},
    "group": {"group_id": "g"},
    "plain": {**_SASL, **_PASSWORD},
    "scram": {**_SASL, **_PASSWORD, "sasl_mechanism": "SCRAM-SHA-256"},
    "oauth": {**_SASL, "sasl_mechanism": "OAUTHBEARER"},
    "tls": {"security_protocol": "SSL", "ssl_context": ssl.create_default_context()},
}
"""Other keywords that are given along."""

_Is = Callable[[Any], bool]


@dataclass(frozen=True, slots=True)
class Difference:
    """One row: what the constructors do that is not the same.

    Args:
        beginning: of the row on the page.
        names: of keywords.
        which: tells the values.
        theirs: what aiokafka's constructor raises, None when it takes the value.
        ours: what the facade's raises.
        contexts: in which other keywords it is so.
    """

    beginning: str
    names: Collection[str]
    which: _Is
    theirs: type[Exception] | None
    ours: type[Exception]
    contexts: Collection[str] = tuple(CONTEXTS)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real | Decimal)


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_no_name(value: Any) -> bool:
    return value in (" ", "\ud800")


def _is_list_of_text(value: Any) -> bool:
    return isinstance(value, Collection) and all(isinstance(each, str) for each in value)


def _is_list_of_assignors(value: Any) -> bool:
    if isinstance(value, str) or not isinstance(value, Collection):
        return False
    return all(each is RangePartitionAssignor for each in value)


TIMES: Final = {name for name in DEFAULTS if name.endswith("_ms")}
CHECKED_THERE: Final = {"retry_backoff_ms", "consumer_timeout_ms"}
SIZES: Final = {"fetch_min_bytes", "fetch_max_bytes", "max_partition_fetch_bytes"}
NAMES: Final = {"client_id", "group_id", "group_instance_id", "client_rack"}
LOGIN: Final = {"sasl_plain_username", "sasl_plain_password"}
BY_PASSWORD: Final = ("plain", "scram")
NO_NUMBER: Final = "A time or a size that is no number"
NO_KIND: Final = "A value of another kind"
NO_TEXT: Final = "A name, a password or an address that cannot be one"

DIFFERENCES: Final = (
    Difference(
        NO_KIND, {"loop"}, lambda value: value is not None, AttributeError, TypeError
    ),
    Difference(
        NO_NUMBER,
        TIMES - CHECKED_THERE - {"connections_max_idle_ms", "rebalance_timeout_ms"},
        lambda value: not _is_number(value), None, TypeError,
    ),
    Difference(
        NO_NUMBER,
        {"connections_max_idle_ms", "rebalance_timeout_ms"},
        lambda value: value is not None and not _is_number(value), None, TypeError,
    ),
    Difference(
        NO_NUMBER, CHECKED_THERE, lambda value: isinstance(value, complex), None, TypeError
    ),
    Difference(
        NO_NUMBER, TIMES - {"consumer_timeout_ms", "heartbeat_interval_ms"}, _is_nan,
        None, ValueError,
    ),
    Difference(
        NO_NUMBER, SIZES, lambda value: not isinstance(value, Integral), None, TypeError
    ),
    Difference(NO_TEXT, NAMES - {"group_instance_id"}, _is_no_name, None, ValueError),
    Difference(NO_TEXT, {"group_instance_id"}, _is_no_name, None, ValueError, ("group",)),
    Difference(
        NO_TEXT,
        {"sasl_mechanism"},
        lambda value: value == "SCRAM-SHA-512",
        None,
        ValueError,
        ("oauth",),
    ),
    Difference(
        NO_KIND, {"auto_offset_reset"}, lambda value: not _is_text(value), None, TypeError
    ),
    Difference(
        NO_KIND, {"partition_assignment_strategy"},
        lambda value: not _is_list_of_assignors(value), None, TypeError,
    ),
    Difference(
        NO_KIND, {"bootstrap_servers"},
        lambda value: not (_is_text(value) or _is_list_of_text(value) or value == b""),
        None, TypeError,
    ),
    Difference(
        NO_TEXT, {"bootstrap_servers"},
        lambda value: value in ("a:port", "\ud800"), None, ValueError,
    ),
    Difference(
        NO_TEXT, LOGIN,
        lambda value: value is not None and (
            not _is_text(value) or not value or value in ("\ud800", "a\x00")
        ),
        None, ValueError, BY_PASSWORD,
    ),
    Difference(NO_TEXT, LOGIN, lambda value: value is None, None, ValueError, ("scram",)),
    Difference(
        NO_KIND, {"ssl_context"}, lambda value: value is not None and value is not True,
        None, TypeError, ("tls",),
    ),
    Difference(
        '`sasl_mechanism="GSSAPI"`', {"sasl_mechanism"}, lambda value: value == "GSSAPI",
        None, UnsupportedSaslMechanismError, ("plain", "scram", "oauth"),
    ),
)  # fmt: skip
