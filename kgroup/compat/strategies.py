"""Assignors of another client, as the option `assignors` takes them.

Decides: that the classes of a table stand for native assignors, and that any other class of that
client's kind is called itself.
Never: runs one; takes a subclass of a class of the table for that class.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from kgroup.assignors import AssignorChoice

__all__ = ["Strategies"]


@dataclass(frozen=True, slots=True)
class Strategies:
    """What one client's `partition_assignment_strategy` may hold.

    Args:
        kind: the class that all of its assignors are of.
        native: its own classes -> names of the native assignors that understand the same.
        wrong: makes the error about what is none.
    """

    kind: type
    native: Mapping[type, str]
    wrong: Callable[[object], Exception]

    def adapted(self, strategy: object) -> tuple[AssignorChoice, ...]:
        """Return the assignors of a strategy, in its order, each once.

        Args:
            strategy: several classes, or instances of them.

        Raises:
            Exception: what `wrong` makes: it is one class and not several, or one of them is
                something else.
        """
        if isinstance(strategy, str | type) or not isinstance(strategy, Iterable):
            raise self.wrong(strategy)
        return tuple(dict.fromkeys(map(self._adapted, strategy)))

    def _adapted(self, given: object) -> AssignorChoice:
        kind = given if isinstance(given, type) else type(given)
        if not issubclass(kind, self.kind):
            raise self.wrong(given)
        found = self.native.get(kind)
        return given if found is None else found  # type: ignore[return-value]  # its shape is the ABC's
