"""N1 to N30: what is sent, and which tests send it to a consumer.

The tests of a row are named after it, `test_n07_...`; a row that is judged elsewhere names the
tests that do it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final


@dataclass(frozen=True, slots=True)
class Row:
    """One kind of bad input.

    Args:
        what: is sent.
        files: of this folder that have its tests, by their names without `test_` and `.py`.
        elsewhere: node ids of the tests that judge it, when it is not judged here.
        missing: why nothing judges it, None when something does.
    """

    what: str
    files: tuple[str, ...] = ()
    elsewhere: tuple[str, ...] = ()
    missing: str | None = None


ROWS: Final[Mapping[int, Row]] = MappingProxyType(
    {
        1: Row("a frame of negative size", ("frames",)),
        2: Row("a frame over the limit, a web server, TLS", ("frames",)),
        3: Row("a frame that is cut off, and then silence", ("frames",)),
        4: Row("bytes behind the body", ("frames",)),
        5: Row("an answer nobody asked for, twice, or under another number", ("frames",)),
        6: Row("lengths below -1, null where none may be", ("values",)),
        7: Row("more announced than there are bytes", ("values",)),
        8: Row("varints that are too long", ("values", "records")),
        9: Row("tagged fields: unknown, twice, unsorted, past the end", ("values",)),
        10: Row("text that is no UTF-8", ("values",)),
        11: Row("error codes nobody knows", ("values",)),
        12: Row("brokers and partitions that cannot be", ("metadata",)),
        13: Row("offsets that are omitted, doubled, negative or huge", ("offsets",)),
        14: Row("coordinators that are none", ("frames",)),
        15: Row("records with a bad checksum", ("records",)),
        16: Row("batches of a length that cannot be", ("records",)),
        17: Row("figures of a batch that contradict its records", ("records",)),
        18: Row("formats, codecs and attributes nobody knows", ("records",)),
        19: Row("marks of transactions that end nothing", ("records",)),
        20: Row("batches that compaction has emptied", ("records",)),
        21: Row("compressed bytes that explode, or lie", ("compression",)),
        22: Row("a codec whose library is missing", ("compression",)),
        23: Row("subscriptions nobody can read, or that cannot be true", ("subscriptions",)),
        24: Row("assignments nobody can read, or nobody asked for", ("rounds",)),
        25: Row("rounds that cannot be", ("rounds",)),
        26: Row("user data nobody can read", ("subscriptions",)),
        27: Row(
            "a SASL server that is none",
            elsewhere=(
                "tests/net/test_sasl.py::test_a_broker_that_asks_for_too_few_iterations_gets_no_proof",
                "tests/net/test_sasl.py::test_a_broker_that_does_not_know_the_password_is_not_believed",
                "tests/net/test_sasl.py::test_a_broker_that_skips_its_proof_is_not_believed",
                "tests/net/test_sasl.py::test_the_error_of_a_mechanism_that_is_not_offered_lists_those_that_are",
                "tests/net/test_sasl.py::test_a_broker_that_goes_on_asking_is_left",
                "tests/net/test_sasl_scram.py::test_a_first_answer_that_must_not_be_believed_is_refused",
                "tests/net/test_sasl_scram.py::test_a_server_that_does_not_know_the_password_is_found_out",
            ),
        ),
        28: Row("versions that are none, turned, too many or refused", ("versions",)),
        29: Row("throttles below zero, or of weeks", ("versions",)),
        30: Row("messages in a log of claims that are none, or cannot be", ("marshal",)),
    }
)
