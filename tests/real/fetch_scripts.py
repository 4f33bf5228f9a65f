"""What is asked of a real broker and of the core of the in-process one: scripts of raw requests.

Decides: the conversations; each leaves a transcript.
Never: knows which of the two it talks to, or what is right.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

from kgroup.codes import ErrorCode
from kgroup.wire.messages import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
    EndTxnRequest,
    FetchRequest,
    FetchResponse,
    FindCoordinatorRequest,
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from tests.real.fetch_talk import ALONE, IDS, NAMES, NEW, TRANSACTION, Rows, Talk
from tests.real.fetch_worlds import Parked

T0, T1, U0 = ("t", 0), ("t", 1), ("u", 0)
_NOT_YET = (
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.CONCURRENT_TRANSACTIONS,
)


# -- one fetch -------------------------------------------------------------------------------------


def reading(talk: Talk) -> None:
    """Versions, ends, limits, names and ids, and what is not there."""
    talk.create("t", 2)
    talk.create("u", 1)
    size = talk.append(b"a" * 40, b"b")
    talk.append(b"c" * 80)
    talk.append(b"d" * 30, number=1)
    for version in range(4, 18):
        talk.fetch("all", {T0: 0, T1: 0, U0: 0}, version=version)
    for offset in (-1, 1, 2, 3, 4):
        talk.fetch(f"from {offset}", {T0: offset})
    for limit in (0, 1, size - 1, size, size + 1, size + 30, 1000):
        talk.fetch(f"part of {limit}", {T0: {"partition_max_bytes": limit}, T1: 0})
        talk.fetch(f"all of {limit}", {U0: 0, T0: 0, T1: 0}, max_bytes=limit)
        talk.fetch(f"second of {limit}", {T0: 0, T1: {"partition_max_bytes": limit}})
    talk.fetch("negative limit", {T0: {"partition_max_bytes": -1}, U0: 0})
    talk.fetch("nothing there", {("t", 9): 0, ("none", 0): 0, T0: 2, U0: 0}, version=NAMES)
    talk.fetch("unknown id", {U0: 0, T0: 2}, ids={"u": b"\5" * 16})
    talk.fetch("nothing asked", {})
    twice = talk.request({T0: 0}, version=NAMES, session=ALONE)
    again = talk.request({T1: 0, T0: 2}, version=NAMES, session=ALONE)
    both = FetchRequest(max_wait_ms=0, min_bytes=1, topics=(*twice.topics, *again.topics))
    talk.seen.fetched("twice", talk.ask(both, NAMES))


def epochs(talk: Talk) -> None:
    """Leader epochs on a broker that has led in epoch 0 only, and fetches of brokers."""
    talk.create("t", 2)
    talk.append(b"a")
    talk.append(b"b")
    for epoch in (-2, -1, 0, 1):
        talk.fetch(f"current {epoch}", {T0: {"current_leader_epoch": epoch}})
    for version in (12, IDS):
        for epoch in (-1, 0, 1):
            for offset in (-1, 0, 2, 3, 7):
                row = {"fetch_offset": offset, "last_fetched_epoch": epoch}
                talk.fetch(f"last {epoch} at {offset}", {T0: row}, version=version)
    stale = {"fetch_offset": 9, "last_fetched_epoch": 5, "current_leader_epoch": 3}
    talk.fetch("both", {T0: stale, T1: 0})
    # From 16 on, only 3.9.1 sends a refused broker the leader's address.
    for version in (12, 14, 15):
        for epoch in (-1, 0, 1):
            talk.fetch(
                f"replica 9 in {epoch}",
                {T0: {"current_leader_epoch": epoch}},
                version=version,
                replica=9,
            )


def starts(talk: Talk) -> None:
    """A log that begins later, in a session."""
    talk.create("t", 2)
    for value in (b"a", b"b", b"c"):
        talk.append(value, value)
    session = talk.fetch("new", {T0: 6}, session=NEW).session_id
    row = DeleteRecordsTopic(
        name=talk.world.real_name("t"),
        partitions=(DeleteRecordsPartition(partition_index=0, offset=3),),
    )
    deleted = talk.ask(DeleteRecordsRequest(topics=(row,), timeout_ms=5000), 1)
    assert deleted.topics[0].partitions[0].low_watermark == 3
    talk.fetch("start moved", {}, session=(session, 1))
    talk.fetch("nothing more", {}, session=(session, 2))
    for offset in (2, 3, 4):
        talk.fetch(f"from {offset}", {T0: offset})
    talk.fetch("gone", {T0: {"fetch_offset": 2, "last_fetched_epoch": 0}})


# -- sessions --------------------------------------------------------------------------------------


def _conversation(talk: Talk, version: int) -> None:
    """One session from its beginning to its end."""
    first = talk.fetch("new", {T0: 0, T1: 0}, session=NEW, version=version)
    session = first.session_id

    def go_on(what: str, epoch: int, rows: Rows, **fields: Any) -> None:
        talk.fetch(what, rows, session=(session, epoch), version=version, **fields)

    go_on("idle", 1, {})
    size = talk.append(b"a")
    talk.append(b"b", number=1)
    go_on("both", 2, {})
    go_on("both again", 3, {})
    go_on("first only", 4, {}, max_bytes=size)
    go_on("other first", 5, {}, max_bytes=size)
    end = talk.fetch("look", {T0: 0}, version=version).responses[0].partitions[0].high_watermark
    go_on("moved on", 6, {T0: end, T1: end})
    go_on("too far", 7, {T0: end + 5})
    go_on("still too far", 8, {})
    go_on("back", 9, {T0: end})
    go_on("quiet", 10, {})
    go_on("added, and unknown", 11, {U0: 0, ("t", 7): 0})
    go_on("still unknown", 12, {})
    go_on("forgotten", 13, {}, forgotten=[("t", 7), U0])
    go_on("old epoch", 13, {})
    go_on("next but one", 15, {})
    go_on("the right one", 14, {})
    go_on("added and forgotten", 15, {U0: 0}, forgotten=[U0])
    talk.fetch("other kind", {}, session=(session, 16), version=NAMES if version == IDS else IDS)
    go_on("after that", 16, {})
    go_on("emptied", 17, {U0: 0}, forgotten=[T0, T1, U0])
    go_on("gone", 18, {})


def sessions(talk: Talk) -> None:
    """Sessions by names and by ids, and their ends."""
    talk.create("t", 2)
    talk.create("u", 1)
    for version in (7, NAMES, 13, IDS):
        _conversation(talk, version)
    talk.fetch("never begun", {T0: 0}, session=(12345, 1))
    talk.fetch("never begun, final", {T0: 0}, session=(12345, -1))
    talk.fetch("never begun, new", {T0: 0}, session=(12345, 0))
    for epoch in (-1, 0):
        session = talk.fetch("new", {T0: 0}, session=NEW).session_id
        talk.fetch(f"full {epoch}", {T0: 0}, session=(session, epoch))
        talk.fetch("after it", {}, session=(session, 1))
    empty = talk.fetch("new and empty", {}, session=NEW).session_id
    talk.fetch("still empty", {}, session=(empty, 1))
    talk.fetch("gone with it", {T0: 0}, session=(empty, 2))
    begun = talk.fetch("empty once more", {}, session=NEW).session_id
    talk.fetch("filled", {T0: 0}, session=(begun, 1))


def overlaps(talk: Talk) -> None:
    """Two requests of one session on their way at once."""
    talk.create("t", 2)
    session = talk.fetch("new", {T0: 0}, session=NEW).session_id
    earlier = talk.park({}, session=(session, 1), max_wait_ms=3000)
    talk.seen.note("earlier waits", earlier.is_parked())
    later = talk.park({}, session=(session, 2), max_wait_ms=3000)
    talk.seen.note("later waits", later.is_parked())
    talk.append(b"a")
    talk.seen.fetched("earlier", earlier.answer())
    talk.seen.fetched("later", later.answer())


def recreated(talk: Talk) -> None:
    """A topic that is deleted, and made anew, under sessions by name and by id."""
    talk.create("t", 1)
    old = talk.world.topic_id("t")
    ids = talk.fetch("by id", {T0: 0}, session=NEW).session_id
    names = talk.fetch("by name", {T0: 0}, session=NEW, version=NAMES).session_id
    talk.world.delete("t")
    talk.fetch("deleted, by id", {}, session=(ids, 1))
    talk.fetch("deleted, by name", {}, session=(names, 1), version=NAMES)
    talk.fetch("deleted, old id", {T0: 0}, ids={"t": old}, session=NEW)
    talk.create("t", 1)
    talk.append(b"new")
    talk.fetch("anew, by id", {}, session=(ids, 2))
    talk.fetch("anew, by name", {}, session=(names, 2), version=NAMES)
    talk.fetch("anew, old id", {T0: 0}, ids={"t": old})
    talk.fetch("anew, new id", {T0: 0}, session=(ids, 3))
    talk.fetch("anew, both ids", {}, session=(ids, 4))


# -- waiting ---------------------------------------------------------------------------------------


def waiting(talk: Talk) -> None:
    """What a fetch waits for, and what ends it."""
    talk.create("t", 2)
    talk.create("u", 1)
    size = talk.append(b"a")

    def wait(what: str, rows: Rows, **fields: Any) -> Parked[FetchResponse]:
        parked = talk.park(rows, max_wait_ms=fields.pop("wait", 3000), **fields)
        talk.seen.note(f"{what} waits", parked.is_parked())
        return parked

    for what, fields in (
        ("enough", {"min_bytes": size}),
        ("too little", {"min_bytes": size + 1, "wait": 400}),
        ("nothing wanted", {"min_bytes": 0}),
        ("limit below", {"min_bytes": 5000, "max_bytes": size}),
    ):
        talk.seen.fetched(what, wait(what, {T0: 0}, **fields).answer())
    for what, rows, version in (
        ("out of range", {T0: 5, T1: 0}, IDS),
        ("other epoch", {T1: {"current_leader_epoch": 4}}, IDS),
        ("parting", {T0: {"fetch_offset": 4, "last_fetched_epoch": 0}, T1: 0}, IDS),
        ("only unknown", {("t", 8): 0}, NAMES),
    ):
        talk.seen.fetched(what, wait(what, rows, version=version).answer())  # type: ignore[arg-type]
    appended = wait("append", {T0: 1, T1: 0})
    mixed = wait("unknown among others", {("t", 8): 0, T1: 0})
    more = wait("more", {T0: 1, T1: 0}, min_bytes=2 * size)
    capped = wait("capped", {T0: {"fetch_offset": 0, "partition_max_bytes": 10}, T1: 0},
                  min_bytes=size + 1)  # fmt: skip
    talk.append(b"b", number=1)
    talk.seen.fetched("append", appended.answer())
    talk.seen.fetched("unknown among others", mixed.answer())
    talk.seen.fetched("capped", capped.answer())
    talk.seen.note("more waits on", more.is_parked())
    talk.append(b"c")
    talk.seen.fetched("more", more.answer())
    deleted = [wait("deletion", {U0: 0}, version=version) for version in (NAMES, IDS)]
    talk.world.delete("u")
    for parked in deleted:
        talk.seen.fetched("deletion", parked.answer())


# -- transactions ----------------------------------------------------------------------------------


def transactions(talk: Talk) -> None:
    """What is stable, and what was aborted."""
    talk.create("t", 2)
    begun = _begin(talk)
    talk.append(b"plain")
    sequence = 0
    for committed in (True, False, False):
        _join(talk, begun)
        for value in (b"x", b"y"):
            talk.append(value, transactional=True, base_sequence=sequence, **_producer(begun))
            sequence += 1
        for level in (0, 1):
            talk.fetch(f"open, level {level}", {T0: 0}, isolation_level=level)
        talk.append(b"between")
        stuck = talk.park({T0: 1 + sequence}, isolation_level=1, max_wait_ms=200)
        talk.seen.fetched("stuck", stuck.answer())
        _end(talk, begun, committed=committed)
        for level in (0, 1):
            for offset in (0, 4, 7):
                talk.fetch(f"ended, {offset} level {level}", {T0: offset}, isolation_level=level)
    ends = talk.fetch("end", {T0: 0, T1: 0}, isolation_level=1)
    last = ends.responses[0].partitions[0].high_watermark
    talk.fetch("beyond", {T0: last, T1: 1}, isolation_level=1)


def _producer(begun: InitProducerIdResponse) -> dict[str, int]:
    return {"producer_id": begun.producer_id, "producer_epoch": begun.producer_epoch}


def _begin(talk: Talk) -> InitProducerIdResponse:
    find = FindCoordinatorRequest(key_type=1, coordinator_keys=(TRANSACTION,))
    talk.world.until(lambda: not talk.ask(find, 4).coordinators[0].error_code)
    init = InitProducerIdRequest(transactional_id=TRANSACTION, transaction_timeout_ms=60_000)
    answers: list[InitProducerIdResponse] = []

    def is_begun() -> bool:
        answers.append(talk.ask(init, 4))
        return answers[-1].error_code not in _NOT_YET

    talk.world.until(is_begun)
    assert answers[-1].error_code == 0
    return answers[-1]


def _join(talk: Talk, begun: InitProducerIdResponse) -> None:
    topic = AddPartitionsToTxnTopic(name=talk.world.real_name("t"), partitions=(0,))
    request = AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=TRANSACTION,
        v3_and_below_producer_id=begun.producer_id,
        v3_and_below_producer_epoch=begun.producer_epoch,
        v3_and_below_topics=(topic,),
    )

    def is_joined() -> bool:
        (row,) = talk.ask(request, 3).results_by_topic_v3_and_below[0].results_by_partition
        return row.partition_error_code == 0

    talk.world.until(is_joined)


def _end(talk: Talk, begun: InitProducerIdResponse, *, committed: bool) -> None:
    """End the transaction, and wait until its mark is in the log."""
    look = talk.request({T0: 0}, version=NAMES, session=ALONE, max_bytes=1)

    def end() -> int:
        return talk.ask(look, NAMES).responses[0].partitions[0].high_watermark

    before = end()
    request = EndTxnRequest(transactional_id=TRANSACTION, committed=committed, **_producer(begun))
    assert talk.ask(request, 3).error_code == 0
    talk.world.until(lambda: end() > before)


Script: TypeAlias = Callable[[Talk], None]
SCRIPTS: tuple[Script, ...] = (
    reading,
    epochs,
    starts,
    sessions,
    overlaps,
    recreated,
    waiting,
    transactions,
)
