"""Which versions of kafka-python the facade can stand in for.

Decides: the pin, and the one error there is outside of it.
Never: looks at anything but the version.
"""

import re
from typing import Final

__all__ = ["FIRST", "UNTIL", "check"]

FIRST: Final = (3, 0)
"""The oldest release whose names are translated."""
UNTIL: Final = (3, 1)
"""The first release that is not known."""

_RELEASE: Final = re.compile(r"(\d+)\.(\d+)")


def check(version: str) -> None:
    """Refuse a version of kafka-python whose names may mean something else.

    Args:
        version: `kafka.__version__`; its first two numbers count.

    Raises:
        ImportError: it is outside the pin; it names the version and the ways out.
    """
    found = _RELEASE.match(version)
    if found is not None and FIRST <= (int(found[1]), int(found[2])) < UNTIL:
        return
    pin = f"kafka-python>={'.'.join(map(str, FIRST))},<{'.'.join(map(str, UNTIL))}"
    raise ImportError(
        f"kgroup.compat.kafka_python stands in for {pin}, but kafka-python {version} is "
        f"installed: pip install '{pin}', or use kgroup.sync.Consumer, which has names of its own",
        name="kafka",
    )
