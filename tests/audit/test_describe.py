from kgroup.audit import ProblemKind
from kgroup.audit.describe import event_log_page
from kgroup.journal.events import EVENT_CLASSES


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
    rules = "S1 S2 S3 S4 S6 S7 S9 C2 C3 C4 C5 C6 C7 D1 D2 D3 D5 D6 K1 K2 T1 T2 B1 B2 B3 B4"
    assert [rule for rule in rules.split() if f"- **{rule}** " not in page] == []
