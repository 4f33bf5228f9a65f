from collections import Counter
from typing import ClassVar

from kgroup.audit.oracles import Violation, Watch, at_least_once, judge
from kgroup.codes import ApiKey
from kgroup.journal import AnswerReceived, Entry, Event, MemberStopped, Polled, RequestSent
from tests.audit.histories import good_history, one_member


class Seen:
    """Keeps what it is shown, and reports it."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []

    def observe(self, entry: Entry) -> tuple[Violation, ...]:
        self.entries.append(entry)
        return (Violation("X1", entry.event.KIND, (entry,)),)

    def finish(self) -> tuple[Violation, ...]:
        return (Violation("X2", f"{len(self.entries)} in all", ()),)


class SeenPolls(Seen):
    KINDS: ClassVar[frozenset[type[Event]]] = frozenset({Polled})


class SeenHeartbeats(Seen):
    KINDS: ClassVar[frozenset[type[Event]]] = frozenset({AnswerReceived, Polled, RequestSent})
    APIS: ClassVar[frozenset[ApiKey]] = frozenset({ApiKey.HEARTBEAT})


def test_an_oracle_that_names_apis_is_shown_no_requests_and_answers_of_others():
    history, member = one_member(0)
    member.deliver(0, 1)
    for api in (ApiKey.HEARTBEAT, ApiKey.SYNC_GROUP, ApiKey.HEARTBEAT):
        member.write(RequestSent(connection=1, correlation_id=1, api=api, version=0))
        member.write(AnswerReceived(connection=1, correlation_id=1, api=api, version=0))
    talk = SeenHeartbeats.KINDS
    wanted = [
        entry
        for entry in history.entries
        if type(entry.event) in talk
        and getattr(entry.event, "api", ApiKey.HEARTBEAT) is ApiKey.HEARTBEAT
    ]
    seen = SeenHeartbeats()
    judge([seen], history.entries)
    assert seen.entries == wanted
    assert {type(entry.event) for entry in wanted} == talk


def test_an_oracle_that_names_kinds_is_shown_these_only():
    history, member = one_member(0)
    member.deliver(0, 1)
    seen = SeenPolls()
    judge([seen], history.entries)
    assert [type(entry.event) for entry in seen.entries] == [Polled]


def test_an_oracle_that_names_no_kinds_is_shown_everything():
    history = good_history()
    seen = Seen()
    judge([seen], history.entries)
    assert seen.entries == history.entries


def test_what_is_found_comes_in_order_of_entries_then_of_oracles():
    history, member = one_member(0)
    member.stop()
    first, second = Seen(), SeenPolls()
    member.write(Polled())
    found = judge([second, first], history.entries[-2:])
    kinds = [MemberStopped.KIND, Polled.KIND, Polled.KIND]
    assert [violation.text for violation in found] == [*kinds, "1 in all", "2 in all"]


def test_a_watch_over_named_oracles_is_one_over_the_oracles():
    history, member = one_member(0)
    member.deliver(0, 1)
    watch = Watch({"polls": SeenPolls()})
    assert sum(len(watch.observe(entry)) for entry in history.entries) == 1
    assert len(watch.finish()) == 1


def test_what_an_oracle_with_a_name_finds_bears_it():
    history, _ = one_member(0)
    named, nameless = Watch({"polls": Seen()}), Watch([Seen()])
    found = [*named.observe(history.entries[0]), *named.finish()]
    assert [violation.oracle for violation in found] == ["polls", "polls"]
    assert [violation.oracle for violation in nameless.observe(history.entries[0])] == [""]


def test_an_entry_of_a_kind_that_few_look_at_is_shown_to_few():
    watch = Watch(at_least_once())
    for entry in good_history().entries:
        watch.observe(entry)
    assert watch.watching[Polled] < len(at_least_once()) / 2


def test_sparing_an_oracle_what_it_does_not_look_at_changes_nothing_it_finds():
    """Each entry is left out in turn, so that most oracles find something."""
    entries = good_history().entries
    rules: Counter[str] = Counter()
    for gone in range(0, len(entries), 7):
        rest = entries[:gone] + entries[gone + 1 :]
        everything = at_least_once()
        shown = [v for entry in rest for oracle in everything for v in oracle.observe(entry)]
        shown.extend(v for oracle in everything for v in oracle.finish())
        assert judge(at_least_once(), rest) == tuple(shown)
        rules.update(violation.rule for violation in shown)
    assert len(rules) >= 3
