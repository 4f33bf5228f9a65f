"""Which oracle is needed for what: for each of them a mutant that no other one finds.

Decides: the tables; a test hunts each of its mutants twice, the second time without the oracle.
Never: hides an oracle for which there is no such mutant: `INSTEAD` says which these are, and what
judges their promise in a simulation, which is tested as well.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final


@dataclass(frozen=True, slots=True)
class Alone:
    """A mutant that one oracle only finds.

    Args:
        mutant: its name.
        plan: that is played from seed 0 on; "" for what the mutant says: its own, or drawn ones,
            which begin at its first.
    """

    mutant: str
    plan: str = ""


ALONE: Final[Mapping[str, Alone]] = MappingProxyType(
    {
        "one_owner_per_generation": Alone("an assignment counts together with the one before"),
        "one_owner_in_time": Alone("a member leaves while its listener still gives partitions up"),
        "lease_held": Alone("a lease outlives the membership it proved"),
        "join_claims": Alone("the JoinGroup after a loss names the generation that was lost"),
        "round_rules": Alone("a leader counts one partition too many"),
        "delivery_gate": Alone("what is paused is handed out", "one pauses"),
        "fetched_under_claim": Alone(
            "an answer to a fetch that crosses a round is kept, when the position is the same"
        ),
        "answers_in_time": Alone("heartbeats name the generation of the assignment before"),
        "member_ids": Alone("a member id that the coordinator does not know is kept"),
        "kept_untouched": Alone("a round takes away and gives again what a member keeps"),
        "few_rounds": Alone(
            "a heartbeat that is in order begins another round, in the first generations"
        ),
        "balanced": Alone("partitions are dealt to the same member again and again"),
        "static_unnoticed": Alone("a static member leaves the group when it is closed"),
        "fenced_silent": Alone("a fenced member says goodbye"),
        "only_leaders_assign": Alone("a follower divides the group as if it led"),
        "commit_order": Alone("a commit without an answer is sent again"),
        "stored_commits": Alone("a new owner begins one record before what was committed"),
        "commits_only_done": Alone("a commit after a seek back says where it was before"),
        "commits_before_join": Alone("a commit that is on its way is not waited for"),
        "auto_commit_behind_poll": Alone("records are done as soon as they are handed out"),
        "true_outcomes": Alone("an answer closes commits that were asked for after its request"),
        "commit_identity": Alone("a commit goes out without a generation while a round is on"),
        "nothing_lost": Alone("a partition without a committed offset is read from its end"),
        "stored_is_done": Alone("a commit says one record too many", "nobody takes over"),
        "delivery_order": Alone(
            "a position stays one record behind what was fetched", "nothing happens"
        ),
        "bounded_duplicates": Alone("a commit of a few records is left out"),
        "no_silent_jump": Alone("the first fetch of a claim asks for the beginning of the log"),
        "served_in_turn": Alone(
            "a poll hands out the first partition that has records, and no other"
        ),
        "heartbeats": Alone("heartbeats are further apart than they may be"),
        "no_storm": Alone("heartbeats follow each other without a pause"),
        "poll_gap": Alone(
            "a member whose application does not poll stays in the group",
            "one does not poll, with records in hand",
        ),
        "outage_unnoticed": Alone(
            "a coordinator that does not answer costs the generation",
            "the coordinator is away for a second",
        ),
        "closes_well": Alone("a member goes without a LeaveGroup"),
        "listener_serial": Alone("changes of ownership are numbered anew after a loss"),
        "ownership_alternates": Alone("a loss is reported twice"),
        "taken_before_added": Alone(
            "an eager member takes again what it had, besides what it is given"
        ),
        "listener_ends": Alone("a listener that is broken off is reported by nobody"),
        "world L1": Alone("a coordinator that has moved is asked again and again"),
        "world L2": Alone("no timer runs while a member waits to join again"),
        "world L7": Alone("what runs in the background goes on for long after a close"),
        "world L9": Alone("the task that watches metadata ends with the first news"),
        "world B4": Alone("what a listener raises is kept from readers"),
        "world crash": Alone("an answer without any partition is read as if it had some"),
        "world warning": Alone("a read begins without a turn of the event loop"),
    }
)
"""Oracle, or look at the living world -> the mutant that only it finds."""

WORLD_LOOKS: Final = frozenset(
    {
        "world L1",
        "world L2",
        "world L7",
        "world L9",
        "world B4",
        "world crash",
        "world warning",
    }
)
"""Names of all looks at the living world, after the rules that these judge."""

INSTEAD: Final[Mapping[str, str]] = MappingProxyType({"recovers": "world L1"})
"""Oracle that no simulation asks -> the look at the living members that judges the same promise.

A log does not say what members ask for after they have subscribed anew; the members do."""
