"""Planted bugs of the consumer around the machine, and of Marshal mode."""

from dataclasses import replace

from tests.search.mutants.mutant import Change, Mutant, Stage
from tests.search.simulation.schedule import Level, Mode

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
                '    __slots__ = ("_by_tp", "_rotation", "begun", "changes")\n',
                '    __slots__ = ("_by_tp", "_kept", "_rotation", "begun", "changes")\n',
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
        name="an answer to a fetch is kept for the present owner of the partition",
        module="kgroup.consumer.fetch.fetch_answers",
        changes=(
            Change(
                "            self._owned.of(owned.claim) is owned\n",
                "            self._owned.find(owned.tp) is not None\n",
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
                "        pauses = [each.retry_at - now for each in unsettled "
                "if each.retry_at > now]\n",
                "        pauses = [each.retry_at - now for each in unsettled "
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
                "        tp: each.committed for tp, each in found.partitions.items() "
                "if _good(each.code, tp.topic)\n",
                "        tp: found.partitions[tp].committed if tp in found.partitions else None\n"
                "        for tp in asked\n",
            ),
            Change(
                "    if not _good(found.code, group_id):\n        return None\n",
                "    _good(found.code, group_id)\n",
            ),
        ),
        rule="C7",
        mode=Mode.EAGER,
        plan="the coordinator loads when one asks where to begin",
        level=Level.B,
    ),
)
"""At level B."""


# -- marshal ---------------------------------------------------------------------------------------


_DOUBLES = "at-most-once never doubles"
_LOSES = "at-least-once never loses"
_APART = "leases keep owners apart"
_REST = "all come to rest"
_COMMITTED = "what is committed is in the log"
_CONFIRMED = "what is owned was confirmed"
_ASKED = "positions go back when that is asked for"
_KNOWN = "nobody claims what it knows to be another's"


def _mutant(name: str, module: str, old: str, new: str, rule: str) -> Mutant:
    changes = (Change(old, new),)
    module = f"kgroup.marshal.{module}"
    return Mutant(name=name, module=module, changes=changes, rule=rule, stage=Stage.LOGS)


def _of_member(name: str, module: str, old: str, new: str, rule: str) -> Mutant:
    return replace(_mutant(name, module, old, new, rule), stage=Stage.ROOMS)


_OF_LOGS = (
    _mutant(
        "a heartbeat under a higher epoch is not believed",
        "transitions",
        "    if epoch > state.epoch:\n",
        "    if peer is None and epoch > state.epoch:\n",
        _DOUBLES,
    ),
    _mutant(
        "a claim begins no epoch",
        "transitions",
        "    state.epoch = at.offset\n",
        "    state.epoch = max(state.epoch, 0)\n",
        _REST,
    ),
    _mutant(
        "a claim is accepted also when another member has the key",
        "transitions",
        "        return not state.owned_at(at.time)\n",
        "        return True\n",
        _APART,
    ),
    _mutant(
        "a heartbeat does not renew the lease",
        "transitions",
        "    if time > state.beat:\n        state.beat = time\n",
        "",
        _APART,
    ),
    _mutant(
        "a lease lasts one interval, not two",
        "transitions",
        "else 2 * interval * _MS",
        "else interval * _MS",
        _APART,
    ),
    _mutant(
        "an offset is read as that of the last record, not of the next",
        "messages",
        "else _integer(fields[8])\n",
        "else (_integer(fields[8]) or 0) + 1\n",
        _LOSES,
    ),
    _mutant(
        "the end of a pause is taken for its length",
        "world",
        "        seconds = min(max(message.tail - message.time, 0), LONGEST_PAUSE)\n",
        "        seconds = min(max(message.tail, 0), LONGEST_PAUSE)\n",
        _REST,
    ),
)
"""Of the reducer; each is found by drawn logs (`tests.marshal.model`)."""

_OF_MEMBERS = (
    _of_member(
        "records are handed out after the lease",
        "member",
        "until = life.expires_at\n        return until if",
        "until = life.expires_at and math.inf\n        return until if",
        _APART,
    ),
    _of_member(
        "what is lost when a lease ends is reported to nobody",
        "key_rows",
        """            (_T.TAKEN, _T.LOG_LOST, _T.EXPIRED),
            to=_P.IDLE,
            do=(_A.LOSE, _A.FORGET, _A.BACK_OFF),
""",
        """            (_T.TAKEN, _T.LOG_LOST, _T.EXPIRED),
            to=_P.IDLE,
            do=(_A.FORGET, _A.BACK_OFF),
""",
        _DOUBLES,
    ),
    _of_member(
        "whatever is read of a member settles what it wrote last",
        "hearing",
        'awaited = write is not None and read.nonce == b"%d" % write.ticket',
        "awaited = write is not None",
        _REST,
    ),
    _of_member(
        "a commit is answered before its heartbeat is read back",
        "committing",
        "turn.proved.get(claim, -1) < ticket",
        "turn.proved.get(claim, ticket) < ticket",
        _COMMITTED,
    ),
    _of_member(
        "a key has one heartbeat within its lease, not several",
        "key_actions",
        "life = replace(life, beat_at=turn.now + interval,",
        "life = replace(life, beat_at=turn.now + 3 * interval,",
        _REST,
    ),
    _of_member(
        "a release says a position behind what was committed",
        "key_actions",
        "    return turn.write(life, Kind.RELEASING_PARTITION, life.position)\n",
        "    return turn.write(life, Kind.RELEASING_PARTITION, life.position + 5)\n",
        _REST,
    ),
    _of_member(
        "a member that was refused once never tries again",
        "key_actions",
        "retry_at=turn.now + backoff.pause(_spread(turn, life)))",
        "retry_at=turn.now + 86_400.0)",
        _REST,
    ),
    _of_member(
        "a successor begins at offset 0",
        "key_actions",
        "    known = turn.member.standing(life.tp).offset\n",
        "    known = 0\n",
        _ASKED,
    ),
    _of_member(
        "a key is owned before its first heartbeat is read back",
        "key_rows",
        """            to=_P.CONFIRMING,
            when=_G.WANTED,
            do=(_A.BEGIN_AT, _A.SEND_BEAT),
""",
        """            to=_P.OWNED,
            when=_G.WANTED,
            do=(_A.BEGIN_AT, _A.OWN, _A.SEND_BEAT),
""",
        _CONFIRMED,
    ),
    _of_member(
        "a claim is made without a look at the log",
        "member",
        "        return log.instant_of(free_at) if free_at else 0.0\n",
        "        return 0.0\n",
        _KNOWN,
    ),
    _of_member(
        "a claim is written without a last look at the log",
        "key_actions",
        "    return _wanted(member, life, now) and now >= member.claimable_at(life.tp)\n",
        "    return _wanted(member, life, now)\n",
        _KNOWN,
    ),
)
"""Of the life of a key; each is found by drawn rooms (`tests.marshal.room`)."""

MARSHAL = _OF_LOGS + _OF_MEMBERS
