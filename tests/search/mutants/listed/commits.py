"""Planted bugs of rounds, commits and positions."""

from tests.search.mutants.mutant import Change, Mutant
from tests.search.simulation.schedule import Mode

COMMITS = (
    Mutant(
        name="a commit says one record too many",
        module="kgroup.machine.commits",
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
        module="kgroup.machine.commit_queue",
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
        module="kgroup.machine.commit_queue",
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
        module="kgroup.machine.commits",
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
        module="kgroup.machine.commit_queue",
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
        module="kgroup.machine.commit_queue",
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
        name="commits that are given up at the end are never answered",
        module="kgroup.machine.commit_queue",
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
        module="kgroup.machine.commit_queue",
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
        module="kgroup.machine.commit_queue",
        changes=(
            Change(
                "            if submission.serial <= flight.through\n",
                "            if submission.serial <= self._serial\n",
            ),
        ),
        rule="C10",
    ),
)
"""How far a group has come, and which commits count."""


# -- rounds ----------------------------------------------------------------------------------------


ROUNDS = (
    Mutant(
        name="an eager member joins while its listener still gives partitions up",
        module="kgroup.membership.step",
        changes=(
            Change(
                "        turn.call_listener(ChangeKind.REVOKED, removed=ready)\n",
                "        turn.call_listener(ChangeKind.REVOKED, removed=ready)\n"
                "        if member.eager and member.state is MemberState.PREPARING:\n"
                "            turn.raised.append(Trigger.HANDED_BACK)\n",
            ),
        ),
        rule="S4",
        mode=Mode.EAGER,
    ),
    Mutant(
        name="a follower divides the group as if it led",
        module="kgroup.membership.translate",
        changes=(
            Change(
                "    turn.leads = led or answer.leader == answer.member_id\n",
                "    turn.leads = True\n",
            ),
        ),
        rule="T3",
    ),
    Mutant(
        name="a leader does not notice that a topic has grown",
        module="kgroup.membership.value",
        changes=(
            Change(
                "        grown = any(self.counts.get(topic, 0) != count "
                "for topic, count in watched.items())\n",
                "        grown = False\n",
            ),
        ),
        rule="L1",
        first=132,
    ),
    Mutant(
        name="nobody tells the group that partitions were given back",
        module="kgroup.membership.value",
        changes=(
            Change(
                "        gone = self.round.believed - self.holdings.partitions\n",
                "        gone = frozenset[TopicPartition]()\n",
            ),
        ),
        rule="L1",
        mode=Mode.COOPERATIVE,
    ),
    Mutant(
        name="closing while JoinGroup is in flight is forgotten once its answer is there",
        module="kgroup.membership.joining_rows",
        changes=(
            Change(
                "        MEMBER,\n        (_T.UNSUBSCRIBED, _T.CLOSE_REQUESTED),\n",
                "        tuple(state for state in MEMBER if state is not _S.JOINING),\n"
                "        (_T.UNSUBSCRIBED, _T.CLOSE_REQUESTED),\n",
            ),
            Change(
                "    fan(_S.DORMANT, _T.UNSUBSCRIBED, to=_S.UNSUBSCRIBED),\n",
                "    fan(_S.JOINING, (_T.UNSUBSCRIBED, _T.CLOSE_REQUESTED)),\n"
                "    fan(_S.DORMANT, _T.UNSUBSCRIBED, to=_S.UNSUBSCRIBED),\n",
            ),
        ),
        rule="L7",
    ),
    Mutant(
        name="a coordinator that has moved is asked again and again",
        module="kgroup.membership.translate",
        changes=(
            Change(
                "    if turn.member.coordinator.state is CoordinatorState.KNOWN:\n",
                "    if turn.member.coordinator.state is CoordinatorState.WAITING:\n",
            ),
        ),
        rule="L1",
    ),
    Mutant(
        name="a static member leaves the group when it is closed",
        module="kgroup.membership.actions",
        changes=(
            Change(
                "    stays = mode is Leave.REMAIN or (mode is Leave.DEFAULT and static)\n",
                "    stays = mode is Leave.REMAIN\n",
            ),
        ),
        rule="T1",
        mode=Mode.STATIC,
    ),
    Mutant(
        name="a fenced member joins again",
        module="kgroup.membership.ending_rows",
        changes=(
            Change(
                "        MEMBER,\n        _T.FENCED,\n        to=_S.FENCED,\n"
                "        do=(*LOSE_MEMBER, _A.RAISE),\n",
                "        MEMBER,\n        _T.FENCED,\n        to=_S.FINDING,\n"
                "        do=(*LOSE_MEMBER, _A.SEEK_COORDINATOR),\n",
            ),
        ),
        rule="T2",
        mode=Mode.STATIC,
    ),
    Mutant(
        name="a member whose application does not poll stays in the group",
        module="kgroup.membership.timers",
        changes=(
            Change(
                "            member.wishes.polled_at + member.settings.poll_interval\n",
                "            None if member else member.wishes.polled_at\n",
            ),
        ),
        rule="L5",
        first=1394,
    ),
    Mutant(
        name="a member goes without a LeaveGroup",
        module="kgroup.membership.actions",
        changes=(
            Change(
                "    if stays or _unnamed(turn.member):\n",
                "    if stays or turn.member is not None:\n",
            ),
        ),
        rule="L7",
    ),
    Mutant(
        name="a rebalance that is heard of while joining asks for another round",
        module="kgroup.membership.translate",
        changes=(
            Change(
                "        case Reaction.REJOIN | Reaction.REJOIN_LATER:\n",
                "        case Reaction.REJOIN | Reaction.REJOIN_LATER:\n"
                "            if turn.member.state is MemberState.JOINING:\n"
                "                turn.put_wishes(replace(turn.member.wishes, enforced='again'))\n",
            ),
        ),
        rule="L1",
    ),
    Mutant(
        name="a coordinator that does not answer costs the generation",
        module="kgroup.membership.translate",
        changes=(
            Change(
                "        turn.error = event.error\n"
                "        turn.cause = Cause.FAILED\n"
                "        return Trigger.REFUSED\n"
                "    return _coordinator_lost(turn)\n",
                "        turn.error = event.error\n"
                "        turn.cause = Cause.FAILED\n"
                "        return Trigger.REFUSED\n"
                "    _coordinator_lost(turn)\n"
                "    return Trigger.GENERATION_LOST if beat else None\n",
            ),
        ),
        rule="L6",
        first=2508,
    ),
    Mutant(
        name="the pause before another try does not grow",
        module="kgroup.membership.actions",
        changes=(
            Change(
                "    attempts = turn.member.round.attempts + 1\n",
                "    attempts = 1\n",
            ),
        ),
        rule="L4",
        mode=Mode.EAGER,
        plan="one joins while the coordinator loads",
    ),
    Mutant(
        name="a static leader that came back divides the group although it shall not",
        module="kgroup.membership.translate",
        changes=(
            Change(
                "    if led or (turn.leads and answer.skip_assignment):\n",
                "    if led:\n",
            ),
        ),
        rule="T3",
        mode=Mode.STATIC,
    ),
    Mutant(
        name="partitions are dealt to the same member again and again",
        module="kgroup.assignors.roundrobin",
        changes=(
            Change(
                "                hands[able[(first + dealt) % len(able)]].append(\n",
                "                hands[able[(first + dealt // 2) % len(able)]].append(\n",
            ),
        ),
        rule="K3",
        mode=Mode.EAGER,
    ),
    Mutant(
        name="a leader counts one partition too many",
        module="kgroup.assignors.numbering",
        changes=(
            Change(
                "        ordered = {topic: _in_order(counts[topic]) "
                "for topic in sorted(counts, key=utf16_order)}\n",
                "        ordered = {\n"
                "            topic: _in_order([*counts[topic], len([*counts[topic]])])\n"
                "            for topic in sorted(counts, key=utf16_order)\n"
                "        }\n",
            ),
        ),
        rule="S10",
    ),
)
"""In the order of a member's life."""
