"""Mutants of commits and positions."""

from tests.search.mutants.mutant import Change, Mutant
from tests.search.simulation.schedule import Mode

__all__ = ["COMMITS"]

COMMITS = (
    Mutant(
        name="a commit says one record too many",
        module="kgroup.membership.commits",
        changes=(
            Change(
                "                committed_offset=offset.offset,\n",
                "                committed_offset=offset.offset + 1,\n",
            ),
        ),
        rule="D1",
    ),
    Mutant(
        name="a commit goes out without a generation while a round is on",
        module="kgroup.membership.commit_queue",
        changes=(
            Change(
                "        assert generation is not None\n        assert node_id is not None\n",
                "        assert generation is not None\n"
                "        assert node_id is not None\n"
                "        if member.round.ticket is not None:\n"
                "            generation = replace(generation, generation_id=-1)\n",
            ),
        ),
        rule="C2",
    ),
    Mutant(
        name="of two commits that wait for one partition the older is sent",
        module="kgroup.membership.commit_queue",
        changes=(
            Change(
                "        for submission in self._wait:\n"
                "            latest.update(submission.open)\n",
                "        for submission in reversed(self._wait):\n"
                "            latest.update(submission.open)\n",
            ),
        ),
        rule="C10",
    ),
    Mutant(
        name="what the coordinator did not apply counts as committed",
        module="kgroup.membership.commits",
        changes=(
            Change(
                "        if verdict is Reaction.SUCCEED:\n",
                "        if verdict is Reaction.SUCCEED or verdict in _AGAIN:\n",
            ),
        ),
        rule="C7",
    ),
    Mutant(
        name="a commit without an answer is sent again",
        module="kgroup.membership.commit_queue",
        changes=(
            Change(
                "        self._end(flight, CommitStatus.UNKNOWN, reason, member)\n",
                "        if self._over is not None:\n"
                "            self._end(flight, CommitStatus.UNKNOWN, reason, member)\n"
                "        elif self._awaits(flight):\n"
                "            for submission, claim, offset in self._land():\n"
                "                self._tell(\n"
                "                    CommitStage.UNKNOWN, submission, claim, "
                "offset.offset, member\n"
                "                )\n",
            ),
        ),
        rule="C6",
    ),
    Mutant(
        name="a commit without an answer counts as committed",
        module="kgroup.membership.commit_queue",
        changes=(
            Change(
                "        self._end(flight, CommitStatus.UNKNOWN, reason, member)\n",
                "        self._end(flight, CommitStatus.COMMITTED, reason, member)\n",
            ),
        ),
        rule="C10",
    ),
    Mutant(
        name="what is handed out counts as done",
        module="kgroup.offsets.ledger",
        changes=(
            Change(
                "        return OffsetAndMetadata(max(first.done_to, account.done), "
                "leader_epoch=epoch)\n",
                "        return OffsetAndMetadata(account.handed, leader_epoch=epoch)\n",
            ),
        ),
        rule="C4",
    ),
    Mutant(
        name="a commit of one record only is left out",
        module="kgroup.offsets.ledger",
        changes=(
            Change(
                "            if account.committed is None or account.moved "
                "or offset.offset > account.committed:\n",
                "            known = account.committed\n"
                "            if known is None or account.moved or offset.offset > known + 1:\n",
            ),
        ),
        rule="D5",
        mode=Mode.COOPERATIVE,
        plan="one record more is done when one joins",
    ),
    Mutant(
        name="a position stays one record behind what was fetched",
        module="kgroup.offsets.positions",
        changes=(
            Change(
                "            offset=event.next_offset,\n",
                "            offset=max(event.next_offset - 1, event.offset + 1),\n",
            ),
        ),
        rule="D2",
    ),
    Mutant(
        name="commits that are given up at the end are never told",
        module="kgroup.membership.commit_queue",
        changes=(
            Change(
                "        for submission, claim, offset in tuple(self._open()):\n"
                "            self._close(submission, claim, _refusal(offset, reason), member)\n"
                "        self._sweep()\n",
                "        self._sweep()\n",
            ),
        ),
        rule="L8",
        mode=Mode.STATIC,
        plan="a twin starts while one commit waits for another",
    ),
    Mutant(
        name="a commit that is on its way is not waited for",
        module="kgroup.membership.commit_queue",
        changes=(
            Change(
                "        return tuple(self._wait)\n",
                "        aloft = 0 if self._flight is None else self._flight.through\n"
                "        return tuple(each for each in self._wait if each.serial > aloft)\n",
            ),
        ),
        rule="C8",
    ),
    Mutant(
        name="an answer closes commits that were asked for after its request",
        module="kgroup.membership.commit_queue",
        changes=(
            Change(
                "            if submission.serial <= flight.through\n",
                "            if submission.serial <= self._serial\n",
            ),
        ),
        rule="C10",
    ),
)
"""How far a group has come, and who says so."""
