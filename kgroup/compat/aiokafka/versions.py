"""Which versions of aiokafka the facade can stand in for.

Decides: the pin, and the one error there is outside of it.
Never: looks at anything but the version.
"""

import re
from typing import Final

__all__ = ["FIRST", "UNTIL", "check"]

FIRST: Final = (0, 13)
"""The oldest release whose names are translated."""
UNTIL: Final = (0, 15)
"""The first release that is not known."""

_RELEASE: Final = re.compile(r"(\d+)\.(\d+)")


def check(version: str) -> None:
    """Refuse a version of aiokafka whose names may mean something else.

    Args:
        version: `aiokafka.__version__`; of "0.14.1.dev3" the first two numbers count.

    Raises:
        ImportError: it is outside the pin; it names the version and the ways out.
    """
    found = _RELEASE.match(version)
    if found is not None and FIRST <= (int(found[1]), int(found[2])) < UNTIL:
        return
    pin = f"aiokafka>={'.'.join(map(str, FIRST))},<{'.'.join(map(str, UNTIL))}"
    raise ImportError(
        f"kgroup.compat.aiokafka stands in for {pin}, but aiokafka {version} is installed: "
        f"pip install '{pin}', or use kgroup.Consumer, which has names of its own",
        name="aiokafka",
    )
