from kgroup.audit import ProblemKind
from kgroup.audit.oracles.promises import PROMISES
from kgroup.journal.events import EVENT_CLASSES
from tests.pages.event_log import event_log_page


def test_the_page_names_every_event_and_every_kind_of_problem():
    page = event_log_page()
    for event in EVENT_CLASSES:
        assert f"### `{event.KIND}`\n" in page
    for kind in ProblemKind:
        assert f"- {kind.value}\n" in page


def test_every_field_of_the_page_is_explained():
    assert "as its name says" not in event_log_page()


def test_every_promise_that_an_oracle_judges_is_on_the_page():
    page = event_log_page()
    assert [each.rule for each in PROMISES if f"| {each.rule} | {each.text} |" not in page] == []
