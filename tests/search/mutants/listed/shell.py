"""Mutants of the shell: what stands between the machine, the brokers and the application.

They show at level B only: level A has a thinner shell of its own.
"""

from tests.search.mutants.mutant import Change, Mutant
from tests.search.simulation.schedule import Level, Mode

__all__ = ["SHELL"]

SHELL = (
    Mutant(
        name="what was buffered is kept over a loss and handed out under the next claim",
        module="kgroup.consumer.buffer.owned",
        changes=(
            Change(
                "            owned = Owned(claim, Position(claim))\n",
                "            owned = Owned(claim, Position(claim))\n"
                "            owned.chunks = self._kept.pop(claim.tp, owned.chunks)\n",
            ),
            Change(
                "            del self._by_tp[owned.tp]\n",
                "            del self._by_tp[owned.tp]\n"
                "            self._kept[owned.tp] = owned.chunks\n",
            ),
            Change(
                '    __slots__ = ("_by_tp", "_rotation", "begun")\n',
                '    __slots__ = ("_by_tp", "_kept", "_rotation", "begun")\n',
            ),
            Change(
                "        self._by_tp: dict[TopicPartition, Owned] = {}\n",
                "        self._by_tp: dict[TopicPartition, Owned] = {}\n"
                "        self._kept: dict[TopicPartition, deque[Chunk]] = {}\n",
            ),
        ),
        rule="D3",
        level=Level.B,
    ),
    Mutant(
        name="what is paused is handed out",
        module="kgroup.consumer.buffer.gate",
        changes=(
            Change(
                "        if not owned.open or owned.paused or self._closed "
                "or self._failure is not None:\n",
                "        if not owned.open or self._closed or self._failure is not None:\n",
            ),
        ),
        rule="S6",
        mode=Mode.EAGER,
        first=305,
        level=Level.B,
    ),
    Mutant(
        name="a listener that raises holds the change of ownership up",
        module="kgroup.consumer.listener",
        changes=(
            Change(
                "        self._emit(change, CallbackStage.RAISE, repr(error))\n",
                "        self._emit(change, CallbackStage.RAISE, repr(error))\n"
                "        await anyio.sleep_forever()\n",
            ),
        ),
        rule="B4",
        first=667,
        level=Level.B,
    ),
    Mutant(
        name="what a listener raises is kept from readers",
        module="kgroup.consumer.ownership",
        changes=(
            Change(
                "            if error is not None:\n                self._gate.report(error)\n",
                "            assert error is None or self._gate\n",
            ),
        ),
        rule="B4",
        mode=Mode.EAGER,
        level=Level.B,
        plan="a listener raises when one joins",
    ),
    Mutant(
        name="the task that sends commits does not end when it is cancelled",
        module="kgroup.backends.classic.commits",
        changes=(
            Change(
                "            self._pending.failed(flight, reason, self._conductor.member)\n"
                "            raise\n",
                "            self._pending.failed(flight, reason, self._conductor.member)\n"
                "            with anyio.CancelScope(shield=True):\n"
                "                await anyio.sleep(60.0)\n"
                "            raise\n",
            ),
        ),
        rule="L7",
        mode=Mode.EAGER,
        plan="one closes with a commit on its way",
        level=Level.B,
    ),
    Mutant(
        name="an answer to a fetch is kept for whoever owns the partition now",
        module="kgroup.consumer.fetch.fetch_answers",
        changes=(
            Change(
                "            self._owned.of(owned.claim) is owned\n",
                "            self._owned.find(owned.tp) is not None\n",
            ),
            Change(
                "    def _stock(self, question: Asked, chunk: Chunk) -> None:\n"
                "        owned = question.owned\n",
                "    def _stock(self, question: Asked, chunk: Chunk) -> None:\n"
                "        owned = self._owned.find(question.owned.tp) or question.owned\n",
            ),
        ),
        rule="S7",
        mode=Mode.EAGER,
        plan="one asks for two rounds",
        level=Level.B,
    ),
    Mutant(
        name="a partition that comes back is read from where it was left off",
        module="kgroup.consumer.fetch.positioning",
        changes=(
            Change(
                "        self._busy: set[int] = set()\n",
                "        self._busy: set[int] = set()\n"
                "        self._places: dict[TopicPartition, int] = {}\n",
            ),
            Change(
                "        pauses = [each.retry_at - now for each in self._owned "
                "if each.retry_at > now]\n",
                "        pauses = [each.retry_at - now for each in self._owned "
                "if each.retry_at > now]\n"
                "        for each in self._owned:\n"
                "            if each.position.state is PositionState.FETCHING:\n"
                "                self._places[each.tp] = each.position.offset or 0\n",
            ),
            Change(
                "            owned.position = before.after(CommittedRead(seek, committed))\n",
                "            place = self._places.get(owned.tp, committed.offset)\n"
                "            committed = OffsetAndMetadata(place, committed.leader_epoch)\n"
                "            owned.position = before.after(CommittedRead(seek, committed))\n",
            ),
        ),
        rule="D3",
        mode=Mode.COOPERATIVE,
        level=Level.B,
    ),
    Mutant(
        name="a coordinator that cannot tell is taken to have nothing committed",
        module="kgroup.backends.offset_reading",
        changes=(
            Change(
                "        tp: each.committed for tp, each in told.partitions.items() "
                "if _good(each.code, tp.topic)\n",
                "        tp: told.partitions[tp].committed if tp in told.partitions else None\n"
                "        for tp in asked\n",
            ),
            Change(
                "    if not _good(told.code, group_id):\n        return None\n",
                "    _good(told.code, group_id)\n",
            ),
        ),
        rule="C7",
        mode=Mode.EAGER,
        plan="the coordinator loads when one asks where to begin",
        level=Level.B,
    ),
)
"""At level B."""
