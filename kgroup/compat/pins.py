"""Which versions of another client a facade can stand in for.

Decides: what a pin is, the one error there is outside of it, and the pin of each facade: the
releases whose own tests of their consumer it was seen to pass.
Never: looks at anything but the version it is given; imports a client.
"""

import re
from typing import Final

from kgroup.values import dataclass

__all__ = ["AIOKAFKA", "KAFKA_PYTHON", "Pin"]

_RELEASE: Final = re.compile(r"(\d+)\.(\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin:
    """The releases whose names a facade translates.

    Args:
        facade: the package that stands in.
        client: the distribution it stands in for.
        module: what that is imported as.
        first: the oldest release that was tried.
        until: the first release that is not known.
        instead: kgroup's own class, for users of another release.
    """

    facade: str
    client: str
    module: str
    first: tuple[int, int]
    until: tuple[int, int]
    instead: str

    def __str__(self) -> str:
        """Return it as a requirement."""
        first, until = (".".join(map(str, each)) for each in (self.first, self.until))
        return f"{self.client}>={first},<{until}"

    def check(self, version: str) -> None:
        """Refuse a version whose names may mean something else.

        Args:
            version: as the client says it; of "0.14.1.dev3" the first two numbers count.

        Raises:
            ImportError: it is outside; it names the version and the ways out.
        """
        found = _RELEASE.match(version)
        if found is not None and self.first <= (int(found[1]), int(found[2])) < self.until:
            return
        raise ImportError(
            f"{self.facade} stands in for {self}, but {self.client} {version} is installed: "
            f"pip install '{self}', or use {self.instead}, which has names of its own",
            name=self.module,
        )


AIOKAFKA: Final = Pin(
    facade="kgroup.compat.aiokafka",
    client="aiokafka",
    module="aiokafka",
    first=(0, 13),
    until=(0, 15),
    instead="kgroup.Consumer",
)
KAFKA_PYTHON: Final = Pin(
    facade="kgroup.compat.kafka_python",
    client="kafka-python",
    module="kafka",
    first=(3, 0),
    until=(3, 1),
    instead="kgroup.sync.Consumer",
)
