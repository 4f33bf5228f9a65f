"""Batches that are handed out at most once, moved along the rows of `admission`.

Decides: how each action of a batch changes its key, and which effects it asks for.
Never: answers a question twice, or leaves one without an answer.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from kgroup.frozen import replace
from kgroup.marshal.admission import (
    ADMISSION_ROWS,
    Admission,
    AdmissionAction,
    AdmissionStage,
    AdmissionTrigger,
)
from kgroup.marshal.events import AdmitRequested, Admitted
from kgroup.marshal.key_state import KeyLife
from kgroup.marshal.messages import Kind
from kgroup.marshal.turn import Turn
from kgroup.types import TopicPartition

_SOON: Final = 1.0


def ask(turn: Turn, event: AdmitRequested) -> None:
    """Begin to admit a batch; what is in the log already is admitted at once."""
    tp = event.claim.tp
    life = turn.life(tp)
    deliverable = turn.member.may_deliver(event.claim, turn.now)
    published = life.publishes(event.until)
    if not deliverable or published or life.admission is not None:
        admitted = deliverable and published
        turn.effects.append(Admitted(event.serial, admitted))
        return
    batch = Admission(event.serial, event.until, not_before=turn.now)
    turn.put(replace(life, admission=batch))


def move(turn: Turn, life: KeyLife, trigger: AdmissionTrigger) -> KeyLife:
    """Move the batch of a key, if there is one that `trigger` can reach; return the key."""
    batch = life.admission
    if batch is None or not ADMISSION_ROWS.cell(batch.stage, trigger):
        return life
    row = ADMISSION_ROWS.find(batch.stage, trigger, lambda _: True)
    life = replace(life, admission=replace(batch, stage=row.to, committing=None))
    for action in row.do:
        life = _ARMS[action](turn, life)
    over = life.admission is not None and life.admission.stage is AdmissionStage.OVER
    return replace(life, admission=None) if over else life


def end_admission(turn: Turn, life: KeyLife) -> KeyLife:
    """Refuse what waits: the claim is over."""
    return move(turn, life, AdmissionTrigger.ENDED)


def send_commits(turn: Turn) -> None:
    """Send what is to be committed, of partitions that are this member's behind all that was read.

    1. A probe, or a heartbeat, is read back; 2. the same answer to a fetch has the record by which
    another member owns the partition. Its position with the coordinator is not ours to move.
    """
    for tp in turn.probed:
        life = turn.life(tp)
        batch = life.admission
        if batch is not None and batch.stage is AdmissionStage.COMMITTING:
            ticket = turn.commit({tp: batch.until})
            turn.put(replace(life, admission=replace(batch, committing=ticket)))
    turn.probed.clear()
    kept = {tp: offset for tp, offset in turn.published.items() if not _is_of_another(turn, tp)}
    if kept:
        turn.commit(kept)
    turn.published.clear()


def _is_of_another(turn: Turn, tp: TopicPartition) -> bool:
    standing = turn.member.standing(tp)
    return standing.owned and not standing.is_owner(*turn.member.who)


def _batch(life: KeyLife) -> Admission:
    assert life.admission is not None
    return life.admission


def _probe(turn: Turn, life: KeyLife) -> KeyLife:
    return turn.write(life, Kind.CLAIMING_MESSAGES, _batch(life).until)


def _commit(turn: Turn, life: KeyLife) -> KeyLife:
    turn.probed.append(life.tp)
    return life


def _publish(turn: Turn, life: KeyLife) -> KeyLife:
    return replace(life, position=_batch(life).until, beat_at=turn.now)


def _admit(turn: Turn, life: KeyLife) -> KeyLife:
    turn.effects.append(Admitted(_batch(life).serial, admitted=True))
    return life


def _refuse(turn: Turn, life: KeyLife) -> KeyLife:
    turn.effects.append(Admitted(_batch(life).serial, admitted=False))
    # The batch was not handed out: a release, which counts more than a heartbeat, gives it back.
    return replace(life, position=life.position if life.logged is None else life.logged)


def _wait(turn: Turn, life: KeyLife) -> KeyLife:
    not_before = turn.now + _SOON * (0.5 + turn.moment.chance)
    return replace(life, admission=replace(_batch(life), not_before=not_before))


_ARMS: Final[Mapping[AdmissionAction, Callable[[Turn, KeyLife], KeyLife]]] = MappingProxyType(
    {
        AdmissionAction.PROBE: _probe,
        AdmissionAction.COMMIT: _commit,
        AdmissionAction.PUBLISH: _publish,
        AdmissionAction.ADMIT: _admit,
        AdmissionAction.REFUSE: _refuse,
        AdmissionAction.WAIT: _wait,
    }
)
