"""Records that may be handed out at most once: the steps before, one row each.

Decides: the order in which a batch is probed, committed and published before anybody gets it.
Never: hands a batch out again once it may be published; what is in doubt when the claim ends is
    lost, never repeated.
Source: marshal's ClaimingMessages, ordered by the log instead of by time.

1. A probe (ClaimingMessages) is written and read back: this member is the owner at that place of
the log. It is no commit; it spares the log a heartbeat of a former owner, which the original
library would obey.
2. The end of the batch is committed with the group coordinator: if the log does not know the
position, the next owner begins behind the batch.
3. The end of the batch is published by a heartbeat, and read back under the same claim: any later
owner's claim stands behind it, and begins behind the batch.
4. The batch is handed out.
"""

from typing import Final

from kgroup.machine.rows import Table, fan
from kgroup.values import dataclass
from kgroup.words import Word


class AdmissionStage(Word):
    """Where one batch of one key stands."""

    WAITING = "waiting for its turn"
    PROBING = "probe written"
    COMMITTING = "being committed"
    PUBLISHING = "heartbeat written"
    OVER = "answered"


class AdmissionTrigger(Word):
    """What can happen to a batch."""

    TURN = "nothing of the key is under way"
    PROBED = "own probe counted"
    COMMITTED = "committed"
    PUBLISHED = "own heartbeat counted"
    FAILED = "probe not read back, or not committed"
    ENDED = "the claim is over"


class AdmissionGuard(Word):
    """Batches need no guards."""


class AdmissionAction(Word):
    """What a row does."""

    PROBE = "write a probe"
    COMMIT = "commit the end of the batch"
    PUBLISH = "write a heartbeat with the end of the batch"
    ADMIT = "hand it out"
    REFUSE = "never hand it out"
    WAIT = "try that again soon"


_S = AdmissionStage
_T = AdmissionTrigger
_A = AdmissionAction

ADMISSION_ROWS: Final[Table[AdmissionStage, AdmissionTrigger, AdmissionGuard, AdmissionAction]] = (
    Table(
        (
            fan(_S.WAITING, _T.TURN, to=_S.PROBING, do=(_A.PROBE,)),
            fan(_S.PROBING, _T.PROBED, to=_S.COMMITTING, do=(_A.COMMIT,)),
            fan(_S.PROBING, _T.FAILED, to=_S.WAITING, do=(_A.WAIT,), why="nothing has happened"),
            fan(_S.COMMITTING, _T.COMMITTED, to=_S.PUBLISHING, do=(_A.PUBLISH,)),
            fan(
                _S.COMMITTING,
                _T.FAILED,
                to=_S.WAITING,
                do=(_A.WAIT,),
                why="it may be committed: nobody else repeats it, and this member has not begun",
            ),
            fan(_S.PUBLISHING, _T.PUBLISHED, to=_S.OVER, do=(_A.ADMIT,)),
            fan(
                (_S.WAITING, _S.PROBING, _S.COMMITTING, _S.PUBLISHING),
                _T.ENDED,
                to=_S.OVER,
                do=(_A.REFUSE,),
            ),
        )
    )
)
"""Every row of a batch; the coverage theorem holds for it."""


@dataclass(frozen=True, slots=True)
class Admission:
    """One batch on its way to the application.

    Args:
        serial: of the question that `Admitted` answers.
        until: offset behind its last record.
        stage: where it stands.
        not_before: instant before which it is not tried (again).
        committing: ticket of the awaited commit, None when none is.
    """

    serial: int
    until: int
    stage: AdmissionStage = AdmissionStage.WAITING
    not_before: float = 0.0
    committing: int | None = None
