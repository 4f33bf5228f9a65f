"""All conversations about logs and transactions."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from tests.testing.broker.talks.ends import deleting, ends
from tests.testing.broker.talks.producing import configured, damaged, idempotent, magics, plain
from tests.testing.broker.talks.talk import Talk
from tests.testing.broker.talks.transactions import fencing, rising, stored, transactions

Conversation = Callable[[Talk], None]

CONVERSATIONS: Final[Mapping[str, Conversation]] = MappingProxyType(
    {
        each.__name__: each
        for each in (
            plain, damaged, magics, configured, idempotent, ends, deleting, transactions, fencing,
            rising, stored,
        )
    }
)  # fmt: skip
