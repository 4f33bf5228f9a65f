"""Which oracle is needed for what: for each of them a mutant that no other one finds.

Decides: the table; a test hunts each of its mutants twice, the second time without the oracle.
Never: hides an oracle for which there is no such mutant: `OPEN` says which these are, and why.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

__all__ = ["ALONE", "OPEN"]

ALONE: Final[Mapping[str, str]] = MappingProxyType(
    {
        "one_owner_per_generation": "an assignment counts together with the one before",
        "lease_held": "a lease outlives the membership it proved",
        "join_claims": "the JoinGroup after a loss names the generation that was lost",
        "round_rules": "a leader counts one partition too many",
        "answers_in_time": "heartbeats name the generation of the assignment before",
        "member_ids": "a member id that the coordinator does not know is kept",
        "kept_untouched": "a round takes away and gives again what a member keeps",
        "balanced": "partitions are dealt to the same member again and again",
        "static_unnoticed": "a static member leaves the group when it is closed",
        "only_leaders_assign": "a follower divides the group as if it led",
        "commit_order": "a commit without an answer is sent again",
        "commits_before_join": "a commit that is on its way is not waited for",
        "true_outcomes": "an answer closes commits that were asked for after its request",
        "commit_identity": "a commit goes out without a generation while a round is on",
        "heartbeats": "heartbeats are further apart than they may be",
        "no_storm": "heartbeats follow each other without a pause",
        "closes_well": "a member goes without a LeaveGroup",
        "listener_serial": "changes of ownership are numbered anew after a loss",
        "world L1": "a coordinator that has moved is asked again and again",
    }
)
"""Oracle -> the mutant that only it finds."""

_RECORDS: Final = (
    "commits_only_done, stored_is_done and nothing_lost see one fault from three sides: who asked, "
    "what was stored, what was never delivered"
)
_RARE: Final = "its mutant is found too seldom for a test that has seconds"
_LIVE: Final = "its mutant lives at level B, where a schedule takes a second"

OPEN: Final[Mapping[str, str]] = MappingProxyType(
    {
        "one_owner_in_time": "who owns at the same time has claims that contradict, or a round "
        "that does: join_claims, round_rules or ownership_alternates find that, too",
        "taken_before_added": "as one_owner_in_time",
        "few_rounds": "rounds without an end keep a group from coming to rest: world L1",
        "commits_only_done": _RECORDS,
        "stored_is_done": _RECORDS,
        "nothing_lost": _RECORDS,
        "auto_commit_behind_poll": "what it finds at level A is not done either: stored_is_done",
        "stored_commits": "what is stored in the wrong order was acknowledged so: commit_order",
        "delivery_order": "what is delivered twice in a row was committed between: "
        "auto_commit_behind_poll",
        "ownership_alternates": "what is not told to be lost is owned twice: one_owner_in_time",
        "bounded_duplicates": _RARE,
        "poll_gap": _RARE,
        "outage_unnoticed": _RARE,
        "fenced_silent": "who goes on after a fence beats out of turn as well: heartbeats",
        "delivery_gate": _LIVE,
        "fetched_under_claim": _LIVE,
        "no_silent_jump": _LIVE,
        "served_in_turn": _LIVE,
        "listener_ends": _LIVE,
        "recovers": "simulations look at the living members instead: world L1",
    }
)
"""Oracle -> why no mutant is known that only it finds."""
