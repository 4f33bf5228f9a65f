"""All members of one run: which of them live, and which life belongs to which member.

Decides: what a consumer is configured with, and what a life is called.
Never: decides when anybody starts or ends; the plan and the nemesis do.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import anyio
from anyio.abc import TaskGroup

from kgroup.config import ConsumerConfig
from kgroup.journal import Source
from kgroup.net.ports import Clock, Ports
from tests.search.simulation.live.life import Life
from tests.search.simulation.live.reach import Network, Reach
from tests.search.simulation.plan import CommitHabit, MemberPlan, Plan
from tests.search.simulation.recorder import MemberSink, Recorder

GROUP: Final = "g"

_REQUEST_TIMEOUT: Final = 4.0
_METADATA_AGE: Final = 4.0
_FETCH_WAIT: Final = 5.0
_PLAIN: Final = ConsumerConfig()
"""Where defaults come from. They are paced as well: a lease whose margin is the whole session holds
never."""


@dataclass(frozen=True, slots=True)
class Luck:
    """Dice of one member: always the same number.

    Args:
        share: in [0, 1).
    """

    share: float

    def uniform(self, a: float, b: float, /) -> float:
        """Return the same place between any two numbers."""
        return a + (b - a) * self.share

    def getrandbits(self, k: int, /) -> int:
        """Return the same share of all numbers of so many bits."""
        return min(int(math.ldexp(self.share, k)), (1 << k) - 1)


class Crew:
    """The members of one run.

    Args:
        plan: the run.
        bootstrap: addresses of the cluster.
        network: connects them.
        recorder: takes their journals.
        clocks: monotonic and calendar.
        pace: what the plan's seconds are multiplied by.
    """

    def __init__(
        self,
        plan: Plan,
        bootstrap: Callable[[], str],
        network: Network,
        recorder: Recorder,
        clocks: tuple[Clock, Clock],
        *,
        pace: float,
    ) -> None:
        self.lives: list[Life] = []
        self.fenced: set[str] = set()
        """Instance ids that were started twice."""
        self._plan = plan
        self._bootstrap = bootstrap
        self._network = network
        self._recorder = recorder
        self._clock, self._wall = clocks
        self._pace = pace

    # -- members ---------------------------------------------------------------------------------

    def of(self, index: int) -> Life | None:
        """Return the life that a member has now, None while it has none."""
        label = self._plan.members[index].label
        lives = [life for life in self.lives if life.plan.label == label and life.alive]
        return lives[0] if lives else None

    def has_lived(self, plan: MemberPlan) -> bool:
        """Whether a member has had a life already."""
        return any(life.plan.label == plan.label for life in self.lives)

    @property
    def alive(self) -> list[Life]:
        """Lives that were not ended."""
        return [life for life in self.lives if life.alive]

    # -- starting --------------------------------------------------------------------------------

    def start(self, tasks: TaskGroup, plan: MemberPlan, *, twin: bool = False) -> Life:
        """Start a process for a member.

        Args:
            tasks: own it.
            plan: of the member.
            twin: whether it is a second one of the same instance.
        """
        number = len(self.lives)
        client = f"{plan.label}-twin" if twin else plan.label
        count = sum(life.plan.label == plan.label for life in self.lives)
        name = f"{plan.label}.{count}"
        reach = Reach(client, number)
        source = Source(host="simulated", process=name, member=client, group=GROUP)
        sink = MemberSink(self._recorder, source)
        config = self._config(plan, client, reach, sink)
        life = Life(plan, name, config, reach, sink, pace=self._pace)
        self.lives.append(life)
        tasks.start_soon(life.run)
        return life

    def _config(
        self, plan: MemberPlan, client: str, reach: Reach, sink: MemberSink
    ) -> ConsumerConfig:
        run, pace = self._plan, self._pace
        dial = self._network.dial_of(reach)
        return ConsumerConfig(
            bootstrap_servers=self._bootstrap(),
            bootstrap_timeout=run.ends_at * pace + 1.0,
            group_id=GROUP,
            group_instance_id=plan.instance,
            client_id=client,
            session_timeout=run.session_timeout * pace,
            heartbeat_interval=run.heartbeat_interval * pace,
            max_poll_interval=run.rebalance_timeout * pace,
            assignors=run.assignors,
            auto_offset_reset="earliest",
            enable_auto_commit=plan.habit is CommitHabit.AUTO,
            auto_commit_interval=plan.commit_interval * pace,
            fetch_max_wait=_FETCH_WAIT * pace,
            request_timeout=_REQUEST_TIMEOUT * pace,
            lease_margin=_PLAIN.lease_margin * pace,
            retry_backoff=_PLAIN.retry_backoff * pace,
            retry_backoff_max=_PLAIN.retry_backoff_max * pace,
            reconnect_backoff=_PLAIN.reconnect_backoff * pace,
            reconnect_backoff_max=_PLAIN.reconnect_backoff_max * pace,
            metadata_max_age=_METADATA_AGE * pace,
            journal=sink,
            ports=Ports(dial=dial, clock=self._clock, wall=self._wall, dice=Luck(plan.luck)),
        )

    async def all_ended(self, timeout: float) -> list[Life]:
        """Wait until every life has ended; return those that have not in time."""
        with anyio.move_on_after(timeout):
            for life in self.lives:
                await life.ended.wait()
        return [life for life in self.lives if not life.ended.is_set()]
