"""Planted bugs that one oracle alone finds, or one check of the living members."""

from tests.search.mutants.mutant import Change, Mutant
from tests.search.simulation.schedule import Level, Mode

LONE = (
    Mutant(
        name="a member leaves while its listener still gives partitions up",
        module="kgroup.membership.step",
        changes=(
            Change(
                "        turn.call_listener(ChangeKind.REVOKED, removed=ready)\n",
                "        turn.call_listener(ChangeKind.REVOKED, removed=ready)\n"
                "        if member.state is MemberState.RELEASING:\n"
                "            turn.raised.append(Trigger.HANDED_BACK)\n",
            ),
        ),
        rule="S2",
        mode=Mode.EAGER,
        plan="one leaves slowly",
    ),
    Mutant(
        name="an eager member takes again what it had, besides what it is given",
        module="kgroup.membership.actions",
        changes=(
            Change(
                "    holdings, added = holdings.acquire(usable)\n",
                "    holdings, added = holdings.acquire(usable | member.round.assigned)\n",
            ),
        ),
        rule="B1",
        mode=Mode.EAGER,
        plan="one asks for less",
    ),
    Mutant(
        name="a heartbeat that is in order begins another round, in the first generations",
        module="kgroup.membership.translate",
        changes=(
            Change(
                "        _served(turn)\n        return None\n    if verdict is Reaction.REJOIN:\n",
                "        _served(turn)\n"
                "        generation = turn.member.identity.generation\n"
                "        if generation is None or generation.generation_id > 24:\n"
                "            return None\n"
                "        return _signal(turn, Reaction.REJOIN, ApiKey.HEARTBEAT, code)\n"
                "    if verdict is Reaction.REJOIN:\n",
            ),
        ),
        rule="K2",
        mode=Mode.EAGER,
        plan="nothing happens",
    ),
    Mutant(
        name="a commit after a seek back says where it was before",
        module="kgroup.offsets.ledger",
        changes=(
            Change(
                "        account = _Account(offset, epoch, known, offset, epoch, decreed, asked)\n",
                "        done = offset if old is None else max(offset, old.done)\n"
                "        account = _Account(offset, epoch, known, done, epoch, decreed, asked)\n",
            ),
            Change(
                "            return OffsetAndMetadata(account.handed, leader_epoch=epoch)\n",
                "            return OffsetAndMetadata(\n"
                "                max(account.handed, account.done), leader_epoch=epoch\n"
                "            )\n",
            ),
        ),
        rule="C4",
        mode=Mode.EAGER,
        plan="one seeks back",
    ),
    Mutant(
        name="a new owner begins one record before what was committed",
        module="kgroup.net.coordinator",
        changes=(
            Change(
                "OffsetAndMetadata(row.committed_offset, row",
                "OffsetAndMetadata(row.committed_offset - 1, row",
            ),
        ),
        rule="C7",
        mode=Mode.EAGER,
        plan="no commit is answered, and its member dies",
    ),
    Mutant(
        name="a loss is reported twice",
        module="kgroup.membership.actions",
        changes=(
            Change(
                "        turn.call_listener(ChangeKind.LOST, removed=lost)\n",
                "        turn.call_listener(ChangeKind.LOST, removed=lost)\n"
                "        turn.call_listener(ChangeKind.LOST, removed=lost)\n",
            ),
        ),
        rule="B2",
        mode=Mode.EAGER,
        plan="one is evicted",
    ),
    Mutant(
        name="a commit of a few records is left out",
        module="kgroup.offsets.ledger",
        changes=(
            Change(
                "            if account.committed is None or account.moved "
                "or offset.offset > account.committed:\n",
                "            known = account.committed\n"
                "            if known is None or account.moved or offset.offset > known + 8:\n",
            ),
        ),
        rule="D5",
        mode=Mode.COOPERATIVE,
        plan="one joins later",
    ),
    Mutant(
        name="a fenced member says goodbye",
        module="kgroup.membership.ending_rows",
        changes=(
            Change(
                "        _T.FENCED,\n        to=_S.FENCED,\n        do=(*LOSE_MEMBER, _A.RAISE),\n",
                "        _T.FENCED,\n"
                "        to=_S.FENCED,\n"
                "        do=(_A.LOSE_ALL, _A.SEND_FAREWELL, _A.FORGET_MEMBER, _A.RAISE),\n",
            ),
        ),
        rule="T2",
        mode=Mode.STATIC,
        plan="a twin starts while the first commits",
    ),
    Mutant(
        name="an answer to a fetch that crosses a round is kept, when the position is the same",
        module="kgroup.consumer.fetch.fetch_answers",
        changes=(
            Change(
                "        owned = question.owned\n"
                "        return (\n"
                "            self._owned.of(owned.claim) is owned\n",
                "        owned = self._owned.find(question.owned.tp) or question.owned\n"
                "        return (\n"
                "            self._owned.of(owned.claim) is owned\n",
            ),
            Change(
                "    def _buffer(self, question: Asked, chunk: Chunk) -> None:\n"
                "        owned = question.owned\n",
                "    def _buffer(self, question: Asked, chunk: Chunk) -> None:\n"
                "        owned = self._owned.find(question.owned.tp) or question.owned\n",
            ),
        ),
        rule="S7",
        mode=Mode.EAGER,
        level=Level.B,
        plan="one asks for two rounds",
    ),
    Mutant(
        name="a poll hands out the first partition that has records, and no other",
        module="kgroup.consumer.buffer.owned",
        changes=(
            Change(
                "        for _ in range(len(self._rotation)):\n"
                "            owned = self._rotation[0]\n"
                "            self._rotation.rotate(-1)\n"
                "            yield owned",
                "        for owned in sorted(self._rotation, key=lambda each: each.tp):\n"
                "            if not owned.is_idle:\n"
                "                yield owned\n"
                "                return",
            ),
        ),
        rule="L10",
        mode=Mode.EAGER,
        level=Level.B,
        plan="one reads slowly",
    ),
    Mutant(
        name="a partition without a committed offset is read from its end",
        module="kgroup.consumer.fetch.positioning",
        changes=(
            Change(
                "                place = after_no_commit(self._settings.reset_policy, owned.tp)\n",
                "                place = LogEnd.END\n",
            ),
        ),
        rule="D1",
        mode=Mode.EAGER,
        level=Level.B,
        plan="nobody commits",
    ),
    Mutant(
        name="the first fetch of a claim asks for the beginning of the log",
        module="kgroup.consumer.fetch.fetching",
        changes=(
            Change(
                "            offset = each.question.offset\n",
                "            known = each.question.owned.heard_at is not None\n"
                "            offset = each.question.offset if known else 0\n",
            ),
        ),
        rule="D8",
        mode=Mode.COOPERATIVE,
        level=Level.B,
        plan="one joins later",
    ),
    Mutant(
        name="records are done as soon as they are handed out",
        module="kgroup.consumer.buffer.delivery",
        changes=(
            Change(
                "        handout = self.ledger.hand_out(owned.claim, chunk.at, epoch)\n",
                "        handout = self.ledger.hand_out(owned.claim, chunk.at, epoch)\n"
                "        self.ledger.finish(handout)\n"
                "        self.journal_done(owned.claim)\n",
            ),
        ),
        rule="C9",
        mode=Mode.EAGER,
        level=Level.B,
        plan="records stay in hand",
    ),
    Mutant(
        name="a listener that is broken off is reported by nobody",
        module="kgroup.consumer.listener",
        changes=(
            Change(
                '            self._emit(change, CallbackStage.RAISE, f"{name} was broken off")\n',
                "",
            ),
        ),
        rule="B7",
        mode=Mode.EAGER,
        level=Level.B,
        plan="one closes amid its listener",
    ),
)
"""One for each oracle that none of the others needs."""


# -- looks -----------------------------------------------------------------------------------------


LOOKS = (
    Mutant(
        name="no timer runs while a member waits to join again",
        module="kgroup.membership.timers",
        changes=(
            Change(
                "for each in sorted(facts.timers, key=lambda one: one.value)),\n",
                "for each in sorted(facts.timers, key=lambda one: one.value)\n"
                "                  if state is not MemberState.BACKING_OFF),\n",
            ),
        ),
        rule="L2",
        mode=Mode.EAGER,
        plan="one joins while the coordinator loads, and goes",
    ),
    Mutant(
        name="what runs in the background goes on for long after a close",
        module="kgroup.consumer.root",
        changes=(
            Change(
                "                    await self._close()\n",
                "                    await self._close()\n"
                "                    await anyio.sleep(20.0)\n",
            ),
        ),
        rule="L7",
        mode=Mode.EAGER,
        level=Level.B,
        plan="nothing happens",
    ),
    Mutant(
        name="the task that watches metadata ends with the first news",
        module="kgroup.consumer.root",
        changes=(
            Change(
                "            view = await self._parts.cluster.changed(view)\n",
                "            await self._parts.cluster.changed(view)\n            return\n",
            ),
        ),
        rule="L9",
        mode=Mode.EAGER,
        level=Level.B,
        plan="nothing happens",
    ),
    Mutant(
        name="an answer without any partition is read as if it had some",
        module="kgroup.backends.offset_reading",
        changes=(
            Change(
                "        if found is None or (whole and any(tp not in found "
                "for tp in partitions)):\n",
                "        if whole and any(tp not in found for tp in partitions):\n",
            ),
        ),
        rule="crash",
        mode=Mode.EAGER,
        level=Level.B,
        plan="the coordinator loads when one asks where to begin",
    ),
    Mutant(
        name="a read begins without a turn of the event loop",
        module="kgroup.consumer.reads.reading",
        changes=(
            Change(
                "        await anyio.lowlevel.checkpoint()\n        while True:\n",
                "        anyio.lowlevel.checkpoint()\n        while True:\n",
            ),
        ),
        rule="warning",
        mode=Mode.EAGER,
        level=Level.B,
        plan="nothing happens",
    ),
)
"""One for each look that has one."""
