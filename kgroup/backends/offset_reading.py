"""Reading committed offsets from the coordinator.

Decides: what an OffsetFetch answer means: an offset, nothing committed, try again, or an error. An
answer that leaves a partition out, or names it twice, is no answer about it (N13).
Never: resets a position; an error is not "nothing committed".
KIPs: 320 (leader epochs), 447 (unstable offsets), 709 (several groups in one request), 848.
"""

from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence

import anyio

from kgroup.codes import ApiKey, ErrorCode
from kgroup.errors import DecodeError, TransportError, UnauthorizedError
from kgroup.machine.backoff import Backoff
from kgroup.machine.reactions import Reaction, reaction
from kgroup.net.cluster import Cluster, Lane
from kgroup.net.coordinator import read_offset_fetch
from kgroup.net.verdict import refusal
from kgroup.types import Generation, OffsetAndMetadata, TopicPartition
from kgroup.values import dataclass
from kgroup.wire.messages import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)

_REQUEST_TIMEOUT = 10.0


@dataclass(frozen=True, slots=True)
class Asker:
    """Whose offsets are asked for, and by whom.

    Args:
        group_id: name of the group.
        identity: what a member of KIP-848 is called at the moment of a question; None: asked by
            nobody in particular, as in a classic group.
    """

    group_id: str
    identity: Callable[[], Generation | None] = lambda: None


async def read_committed_offsets(
    cluster: Cluster,
    asker: Asker,
    partitions: Sequence[TopicPartition],
    coordinator: Callable[[int], Awaitable[int]],
    *,
    whole: bool,
    timeout: float,
) -> Mapping[TopicPartition, OffsetAndMetadata | None]:
    """Ask until the coordinator answers.

    Args:
        cluster: connections, and the pause between two tries.
        asker: the group, and the member that asks.
        partitions: what to ask for.
        coordinator: waits for the coordinator's node id; hears the error code by which the broker
            asked before said that it is not the coordinator, 0 for none.
        whole: whether to ask again while some partitions have no answer, such as those of an open
            transaction; otherwise they are left out.
        timeout: seconds for all questions.

    Raises:
        UnauthorizedError, BrokerError: the coordinator refused for good.
        TimeoutError: no coordinator could tell in time; the text says what stood in the way last.
    """
    if not partitions:
        return {}
    backoff = Backoff(cluster.settings.retry_backoff, cluster.settings.retry_backoff_max)
    dice = cluster.ports.dice_for(f"OFFSET_FETCH of {partitions[0]}")
    last, moved = "no coordinator was found", 0

    async def ask() -> Mapping[TopicPartition, OffsetAndMetadata | None] | None:
        nonlocal last, moved
        node_id, moved = await coordinator(moved), 0
        request = _request(asker.group_id, partitions, asker.identity())
        try:
            answer = await cluster.send(
                node_id, request, lane=Lane.CONTROL, timeout=_REQUEST_TIMEOUT
            )
        except (TransportError, TimeoutError) as error:
            last = str(error)
            return None
        moved = _moved(answer, asker.group_id)
        found = None if moved else _read(answer, asker.group_id, partitions)
        last = f"node {node_id} could not tell, or not about all of them"
        if found is None or (whole and any(tp not in found for tp in partitions)):
            return None
        return {tp: found[tp] for tp in partitions if tp in found}

    with anyio.move_on_after(timeout):
        while (found := await ask()) is None:
            backoff = backoff.failed()
            await anyio.sleep(backoff.pause(dice.uniform(0, 1)))
        return found
    what = f"committed offsets of group {asker.group_id!r}"
    raise TimeoutError(f"{what}: not known within {timeout:g} s; {last}")


def _request(
    group_id: str, partitions: Sequence[TopicPartition], who: Generation | None
) -> OffsetFetchRequest:
    by_topic: dict[str, list[int]] = defaultdict(list)
    for tp in partitions:
        by_topic[tp.topic].append(tp.partition)
    topics = tuple(
        OffsetFetchRequestTopics(name=topic, partition_indexes=tuple(numbers))
        for topic, numbers in by_topic.items()
    )
    group = OffsetFetchRequestGroup(
        group_id=group_id,
        member_id=None if who is None else who.member_id,
        member_epoch=-1 if who is None else who.generation_id,
        topics=topics,
    )
    return OffsetFetchRequest(groups=(group,), require_stable=True)


def _read(
    answer: OffsetFetchResponse, group_id: str, asked: Sequence[TopicPartition]
) -> dict[TopicPartition, OffsetAndMetadata | None] | None:
    """Return what is known, None when all must be asked again; partitions to repeat are absent.

    Raises:
        UnauthorizedError: the group, or some topics, are closed; it names all of them.
        BrokerError: asking again would not help.
    """
    try:
        found = read_offset_fetch(answer, group_id)
    except DecodeError:
        return None
    code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    closed = {tp.topic for tp, each in found.partitions.items() if each.code == code}
    if found.code == code:
        closed = {tp.topic for tp in asked}
    if closed:
        raise UnauthorizedError(ApiKey.OFFSET_FETCH.name, code, sorted(closed))
    if not _good(found.code, group_id):
        return None
    return {
        tp: each.committed for tp, each in found.partitions.items() if _good(each.code, tp.topic)
    }


def _moved(answer: OffsetFetchResponse, group_id: str) -> int:
    """Return the code that says that another broker is the coordinator, 0 without one."""
    try:
        found = read_offset_fetch(answer, group_id)
    except DecodeError:
        return 0
    codes = (found.code, *(each.code for each in found.partitions.values()))
    moved = Reaction.FIND_COORDINATOR
    return next((code for code in codes if reaction(ApiKey.OFFSET_FETCH, code) is moved), 0)


def _good(code: int, resource: str) -> bool:
    """Tell whether an error code is success; False means ask again.

    Raises:
        UnauthorizedError, BrokerError: asking again would not help.
    """
    match reaction(ApiKey.OFFSET_FETCH, code):
        case Reaction.SUCCEED:
            return True
        case Reaction.RETRY | Reaction.FIND_COORDINATOR | Reaction.RENEW_EPOCH:
            return False
        case _:
            raise refusal(ApiKey.OFFSET_FETCH, code, [resource])
