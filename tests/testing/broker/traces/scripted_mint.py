"""Hands out the very ids that the real broker made, so that hash order shows as it did there.

Decides: which id comes next: the one in the recorded answer of the request that is being handled,
if no earlier answer had it. A core that mints where the real broker did not gets a name that no
trace has, and the answers differ.
"""

from collections.abc import Iterable

from kgroup.testing.broker.mint import Mint
from kgroup.wire.messages import (
    DescribeGroupsResponse,
    JoinGroupRequest,
    JoinGroupResponse,
)
from kgroup.wire.schema import Message
from tests.testing.broker.traces.recorded import Exchange


class ScriptedMint(Mint):
    """The ids of one trace.

    Args:
        exchanges: of the trace.

    `asked` is set to the exchange whose request is about to be handled.
    """

    def __init__(self, exchanges: Iterable[Exchange]) -> None:
        super().__init__(0)
        self.asked: Exchange | None = None
        self._ids = _ids_by_exchange([*exchanges])

    def member_id(self, prefix: str) -> str:
        """Return the recorded id, or one that no trace has."""
        asked = self.asked
        recorded = self._ids.pop(id(asked), None)
        if recorded is None or not recorded.startswith(f"{prefix}-"):
            return super().member_id(f"unexpected-{prefix}")
        return recorded

    def plain_id(self) -> str:
        """Return the recorded id, or one that no trace has."""
        return self._ids.pop(id(self.asked), None) or f"unexpected-{super().plain_id()}"


def _ids_by_exchange(exchanges: list[Exchange]) -> dict[int, str]:
    """Say which request made which id; one that was never answered made an id that shows up."""
    made: dict[int, str] = {}
    known: set[str] = set()
    unanswered: list[Exchange] = []
    for exchange in exchanges:
        if not isinstance(exchange.request, JoinGroupRequest) or exchange.request.member_id:
            continue
        answer = exchange.answer
        if not isinstance(answer, JoinGroupResponse):
            unanswered.append(exchange)
        elif answer.member_id and answer.member_id not in known:
            known.add(answer.member_id)
            made[id(exchange)] = answer.member_id
    seen = [each for exchange in exchanges for each in _seen(exchange.answer)]
    for exchange in unanswered:
        ghost = next((each for each in seen if each not in known and _fits(exchange, each)), None)
        if ghost is not None:
            known.add(ghost)
            made[id(exchange)] = ghost
    return made


def _fits(exchange: Exchange, member_id: str) -> bool:
    assert isinstance(exchange.request, JoinGroupRequest)
    prefix = exchange.request.group_instance_id or exchange.client
    return member_id.startswith(f"{prefix}-")


def _seen(answer: Message | None) -> list[str]:
    if isinstance(answer, JoinGroupResponse):
        return [member.member_id for member in answer.members]
    if isinstance(answer, DescribeGroupsResponse):
        return [member.member_id for group in answer.groups for member in group.members]
    return []
