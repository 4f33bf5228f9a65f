"""The core of the in-process broker, asked over connections, on a clock that others turn.

Decides: that a connection is served one request at a time (`broker_facts.md` G1), and which member
ids the core makes up: those it is lent.
Never: reads a clock.
"""

from collections import deque
from dataclasses import dataclass, field
from typing import Any

from kgroup.testing.broker.agenda import Timer
from kgroup.testing.broker.context import Context
from kgroup.testing.broker.core import Core
from kgroup.testing.broker.groups.group import Group
from kgroup.testing.broker.mint import Mint
from kgroup.testing.broker.releases import CoordinatorKind
from kgroup.testing.broker.settings import BrokerSettings
from kgroup.wire.schema import Request, replace
from tests.testing.broker.driver import Call, Raw, surroundings
from tests.testing.differential.script import TOPICS, Setting

MIN_SESSION = 1.0


def kind_of(version: str) -> CoordinatorKind:
    """Return the group coordinator a version of Kafka runs by default."""
    return CoordinatorKind.OLD if version.startswith("3.") else CoordinatorKind.NEW


class LendingMint(Mint):
    """Makes up ids, except the next one when that is lent."""

    def __init__(self) -> None:
        super().__init__(0)
        self.lent: str | None = None

    def member_id(self, prefix: str) -> str:
        made = super().member_id(prefix)
        lent, self.lent = self.lent, None
        return lent if lent is not None and lent.startswith(f"{prefix}-") else made


@dataclass(slots=True)
class Pending:
    """One request on its way through the core.

    Args:
        connection: on which.
        client: client id.
        request: the message.
        version: of it.
        lent: the member id to make up for it, None = any.
        call: what the core made of it; None while the connection is busy with an earlier one.
        phase: where its group stood when it was asked.
    """

    connection: str
    client: str
    request: Request[Any]
    version: int
    lent: str | None = None
    call: Call[Any] | None = None
    phase: str = ""


@dataclass(slots=True)
class Line:
    """One connection; `busy` is the request that is being served."""

    busy: Pending | None = None
    behind: deque[Pending] = field(default_factory=deque)


class Stage:
    """One group on one core.

    Args:
        version: of Kafka.
        setting: of the broker.
        group_id: the group.
    """

    def __init__(self, version: str, setting: Setting, group_id: str) -> None:
        kind = kind_of(version)
        settings = BrokerSettings(
            min_session_timeout=MIN_SESSION,
            initial_rebalance_delay=setting.delay,
            max_group_size=setting.max_size,
            auto_create_topics=False,
        )
        self.mint = LendingMint()
        given = surroundings(kind, settings)
        context = Context(
            given.agenda,
            given.outbox,
            settings,
            given.release,
            kind,
            self.mint,
            given.calendar_start,
        )
        self.raw = Raw(Core(context, 1))
        self.group_id = group_id
        self._lines: dict[str, Line] = {}
        self._left: list[Line] = []
        for topic in TOPICS:
            self.raw.core.cluster.create_topic(topic, 2)

    @property
    def now(self) -> float:
        """What its clock reads."""
        return self.raw.now

    @property
    def group(self) -> Group | None:
        """The group as the coordinator has it, None when there is none."""
        return self.raw.core.coordinators.shard_of(self.group_id).groups.get(self.group_id)

    @property
    def phase(self) -> str:
        """Where the group stands."""
        return self.group.phase.value if self.group is not None else "none"

    def busy(self, connection: str) -> bool:
        """Whether a connection waits for an answer."""
        line = self._lines.get(connection)
        return line is not None and line.busy is not None

    @property
    def queues(self) -> bool:
        """Whether a request waits behind another on its connection, which may be closed."""
        return any(line.behind for line in (*self._lines.values(), *self._left))

    # -- what happens to it ----------------------------------------------------------------------

    def send(self, pending: Pending) -> None:
        """Let a request arrive on its connection."""
        self._lines.setdefault(pending.connection, Line()).behind.append(pending)
        self._serve()

    def close(self, connection: str) -> None:
        """Close a connection; of what waits behind a parked request the first is still served."""
        line = self._lines.pop(connection, None)
        if line is not None and line.busy is not None and line.behind:
            line.behind = deque([line.behind[0]])
            self._left.append(line)

    def until(self, instant: float) -> None:
        """Let time pass up to an instant."""
        while (due := self.raw.core.context.agenda.next_at) <= instant:
            self.raw.until(due)
            self._serve()
        self.raw.until(instant)

    def _serve(self) -> None:
        """Ask what connections have room for, until none has."""
        moved = True
        while moved:
            moved = False
            for line in (*self._lines.values(), *self._left):
                if (
                    line.busy is not None
                    and line.busy.call is not None
                    and not line.busy.call.parked
                ):
                    line.busy = None
                if line.busy is None and line.behind:
                    line.busy = line.behind.popleft()
                    self._ask(line.busy)
                    moved = True

    def _ask(self, pending: Pending) -> None:
        pending.phase = self.phase
        self.mint.lent = pending.lent
        pending.call = self.raw.ask(
            1,
            replace(pending.request),
            version=pending.version,
            client=pending.client,
        )
        self.mint.lent = None

    # -- edges -----------------------------------------------------------------------------------

    def edges(self) -> list[float]:
        """Return the instants at which the group will change by itself, in order."""
        group = self.group
        if group is None:
            return []
        timers: list[Timer | None] = [group.join_timer, *group.pending.values()]
        timers += [each.session for each in group.members.values() if not each.outlives_session]
        if group.unsynced:
            timers.append(group.sync_timer)
        return sorted(each.at for each in timers if each is not None and each.act is not None)
