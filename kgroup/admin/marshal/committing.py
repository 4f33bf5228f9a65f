"""What is committed with the group coordinator, for a caller outside the group.

Decides: which answers are waited for, and for how long.
Never: counts an answer that did not come, for or against: what is so is read back.
KIPs: 211 (simple commits).
"""

from collections.abc import Mapping

import anyio

from kgroup.admin.marshal.claim_log import ClaimLog
from kgroup.backends.coordinator_search import CoordinatorSearch
from kgroup.backends.marshal.offset_commits import OffsetCommits
from kgroup.backends.offset_reading import Asker, read_committed_offsets
from kgroup.marshal.events import CommitOffsets, OffsetsCommitted
from kgroup.types import TopicPartition


async def committed_now(
    claim_log: ClaimLog, tps: tuple[TopicPartition, ...]
) -> dict[TopicPartition, int | None]:
    """Return what is committed, None for nothing.

    Raises:
        BrokerError: the coordinator refused.
        TimeoutError: nobody could tell in time.
    """
    timeout = claim_log.settings.timeout
    found = await read_committed_offsets(
        claim_log.cluster,
        Asker(claim_log.settings.group_id),
        tps,
        _search(claim_log).asker(),
        whole=True,
        timeout=timeout,
    )
    return {tp: None if each is None else each.offset for tp, each in found.items()}


async def commit_all(
    claim_log: ClaimLog, wanted: Mapping[TopicPartition, int], at_most: float
) -> dict[TopicPartition, Exception]:
    """Commit positions; return why which partitions were not committed, as far as anybody said.

    Args:
        claim_log: at the log.
        wanted: partition -> next offset to read.
        at_most: seconds that it may take; the time for one question may be shorter.
    """
    if not wanted:
        return {}
    timeout = min(claim_log.settings.timeout, at_most)
    answers: dict[int, OffsetsCommitted] = {}
    done = anyio.Event()

    def tell(answer: OffsetsCommitted) -> None:
        answers[answer.ticket] = answer
        if len(answers) == len(wanted):
            done.set()

    commits = OffsetCommits(
        claim_log.cluster, claim_log.settings.group_id, _search(claim_log), tell
    )
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(commits.run)
        for ticket, (tp, offset) in enumerate(wanted.items()):
            commits.commit(CommitOffsets(ticket, {tp: offset}, timeout))
        with anyio.move_on_after(timeout + 1.0):
            await done.wait()
        tasks.cancel_scope.cancel()
    late = OffsetsCommitted(-1, TimeoutError(f"no coordinator answered within {timeout:g} s"))
    errors = {tp: answers.get(n, late).error for n, tp in enumerate(wanted)}
    return {tp: error for tp, error in errors.items() if error is not None}


def _search(claim_log: ClaimLog) -> CoordinatorSearch:
    net = claim_log.cluster.settings
    return CoordinatorSearch(
        claim_log.cluster,
        claim_log.settings.group_id,
        timeout=net.request_timeout,
        pause=net.retry_backoff,
    )
