"""Heartbeats that were sent but not recorded, rebuilt from the notes of a trace.

A note tells them as runs, `27 x14 (232..1610); 25 x7 (1712..2353)`: the answer, how often, and
milliseconds of the first and the last one.

Decides: when each was sent (evenly within its run), as which member (the one that the connection
had last joined as), and which answers fit: that of its run, or of a run closer than the slack.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from kgroup.wire.messages import (
    DescribeGroupsRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetFetchRequest,
    OffsetFetchRequestTopic,
)
from kgroup.wire.schema import Request
from tests.testing.broker.traces.recorded import Exchange, Note, Trace

_RUN: Final = re.compile(r"(\S+) x(\d+) \((-?\d+)\.\.(-?\d+)\)")
_POLLED: Final = re.compile(r"(hbA|joinB|syncB) at node (\d): ")
_STATE: Final = re.compile(r"(offset_expiry-\w+): \('(\w+)', (-?\d+)\) at")
_WATCHED_EVERY: Final = 0.5
_SIGNAL: Final = re.compile(r"^(kill|term) to node")
_SLACK: Final = 0.3
_GRAIN: Final = 0.02
_PERIOD: Final = 0.1
_VERSION: Final = 4

_NOTED: Final = (
    ("generation_arithmetic", "A's heartbeats after B went silent", "A"),
    ("nobody_rejoins", "A: ", "A"),
    ("nobody_rejoins", "B: ", "B"),
    ("not_rejoining", "B's heartbeats", "B"),
    ("parked_connection_closes", "A's heartbeats after the phase", "A"),
    ("parked_connection_closes", "P's heartbeats", "P"),
    ("parked_longer_than_session", "A's heartbeats", "A"),
    ("static_absent", "B silent", "A"),
    ("static_absent", "A's heartbeats for", "A"),
)
"""Scenario, how the note begins, and the member that sent the heartbeats."""

_UNNOTED: Final = (
    ("first_join", "pending id expires", "pending id leaves", "A", ("0",)),
    ("parked_connection_closes", "A, C: ", "new member N", "C", ("0", "27")),
)
"""Scenario, the notes between which a member must have sent heartbeats, the member, the answers."""


@dataclass(frozen=True, slots=True)
class Run:
    """Polls in a row that had the same answer; seconds, as the note counts them."""

    code: str
    count: int
    first: float
    last: float

    @property
    def instants(self) -> list[float]:
        """When they were sent."""
        step = (self.last - self.first) / max(self.count - 1, 1)
        return [self.first + step * number for number in range(self.count)]


def runs_of(note: Note) -> list[Run]:
    """Read the runs of a note."""
    return [
        Run(code, int(count), int(first) / 1000, int(last) / 1000)
        for code, count, first, last in _RUN.findall(note.text)
    ]


def polls_of(trace: Trace) -> list[Exchange]:
    """Rebuild the polling connections of a trace."""
    rebuilt = (_noted, _unnoted, _moving, _before, _states, _expiries)
    polls = [poll for rebuild in rebuilt for poll in rebuild(trace)]
    for number, poll in enumerate(polls, start=1):
        poll.line = -number  # nothing is parked that they could wait behind
    return polls


def _noted(trace: Trace) -> Iterator[Exchange]:
    noted = [
        (who, runs_of(note))
        for scenario, beginning, who in _NOTED
        for note in trace.notes
        if scenario == trace.scenario and note.text.startswith(beginning)
    ]
    for who, runs in noted:
        for at in _instants(runs):
            yield _heartbeat(trace, who, at, _fitting(runs, at))


def _unnoted(trace: Trace) -> Iterator[Exchange]:
    for scenario, beginning, end, who, codes in _UNNOTED:
        if scenario != trace.scenario:
            continue
        at = next(note.at for note in trace.notes if note.text.startswith(beginning))
        until = next(note.at for note in trace.notes if note.text.startswith(end))
        while at < until:
            yield _heartbeat(trace, who, at, frozenset(codes))
            at += _PERIOD


def _before(trace: Trace) -> Iterator[Exchange]:
    """In `bounds` there is a group "" already: `commit_states` made it on the same broker."""
    if trace.scenario == "bounds":
        rows = (
            OffsetCommitRequestPartition(
                partition_index=0, committed_offset=1, committed_metadata=None
            ),
        )
        request = OffsetCommitRequest(
            group_id="", topics=(OffsetCommitRequestTopic(name="t", partitions=rows),)
        )
        yield _exchange("before", 0.0, request, 8, frozenset({"0"}))


def _states(trace: Trace) -> Iterator[Exchange]:
    """In `offset_expiry`, each group's state and commit were asked for twice a second."""
    noted = [(note.at, found) for note in trace.notes if (found := _STATE.match(note.text))]
    for group_id in {found[1] for _, found in noted}:
        changes = [(at, found[2], found[3]) for at, found in noted if found[1] == group_id]
        for (at, state, offset), after in zip(changes, [*changes[1:], None], strict=True):
            until = trace.ends_at if after is None else after[0] - _WATCHED_EVERY
            while at < until:
                describe = DescribeGroupsRequest(groups=(group_id,))
                yield _exchange("watching", at, describe, 5, frozenset({state}))
                wanted = OffsetFetchRequestTopic(name="t", partition_indexes=(0,))
                fetch = OffsetFetchRequest(group_id=group_id, topics=(wanted,))
                yield _exchange("watching", at, fetch, 7, frozenset({offset}))
                at += _WATCHED_EVERY


def _expiries(trace: Trace) -> Iterator[Exchange]:
    """In `expiry_granularity`, each group was watched around the end of its member's session."""
    if trace.scenario != "expiry_granularity":
        return
    sessions = {
        each.request.group_id: each.request.session_timeout_ms / 1000
        for each in trace.exchanges
        if isinstance(each.request, JoinGroupRequest)
    }
    for each in trace.exchanges:
        if isinstance(each.request, HeartbeatRequest):
            end = each.at + sessions[each.request.group_id]
            describe = DescribeGroupsRequest(groups=(each.request.group_id,))
            for at, state in ((end - _GRAIN, "Stable"), (end + _GRAIN, "Empty")):
                yield _exchange("watching", at, describe, 5, frozenset({state}))


def _moving(trace: Trace) -> Iterator[Exchange]:
    """Repeat the recorded request of each connection that polled while a coordinator moved."""
    sent = next((note.at for note in trace.notes if _SIGNAL.search(note.text)), 0.0)
    for note in trace.notes:
        polled = _POLLED.match(note.text)
        if polled is None:
            continue
        name = f"{polled[1]}@{polled[2]}"
        sample = next(exchange for exchange in trace.exchanges if exchange.name == name)
        runs = runs_of(note)
        for at in _instants(runs):
            poll, codes = f"{name} polling", _fitting(runs, at)
            yield replace(sample, name=poll, at=sent + at, answered_at=None, codes=codes)


def _instants(runs: list[Run]) -> list[float]:
    return [at for run in runs for at in run.instants]


def _fitting(runs: list[Run], at: float) -> frozenset[str]:
    return frozenset(run.code for run in runs if run.first - _SLACK <= at <= run.last + _SLACK)


def _heartbeat(trace: Trace, who: str, at: float, codes: frozenset[str]) -> Exchange:
    joined = [
        (exchange.request, exchange.answer)
        for exchange in trace.exchanges
        if exchange.name == who and (exchange.answered_at or at) < at
    ]
    request, answer = next(
        (request, answer)
        for request, answer in reversed(joined)
        if isinstance(answer, JoinGroupResponse) and not answer.error_code
    )
    assert isinstance(request, JoinGroupRequest)
    heartbeat = HeartbeatRequest(
        group_id=request.group_id,
        generation_id=answer.generation_id,
        member_id=answer.member_id,
        group_instance_id=request.group_instance_id,
    )
    return _exchange(f"{who} polling", at, heartbeat, _VERSION, codes)


def _exchange(
    name: str, at: float, request: Request[Any], version: int, codes: frozenset[str]
) -> Exchange:
    return Exchange(
        name=name,
        line=0,
        correlation=0,
        at=at,
        api=request.api_key,
        version=version,
        request=request,
        codes=codes,
    )
