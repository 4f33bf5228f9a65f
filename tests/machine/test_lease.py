"""The lease: two deadlines, both counted from sending."""

from hypothesis import given
from hypothesis import strategies as st

from kgroup.machine.lease import Lease

FRESH = Lease(session_timeout=10.0, rebalance_timeout=30.0, margin=1.0)


def test_nothing_may_be_handed_out_before_the_first_heartbeat_answer() -> None:
    assert not FRESH.rejoined(100.0).holds(100.0)


def test_the_session_limb_counts_from_the_sending_of_the_heartbeat() -> None:
    lease = FRESH.rejoined(100.0).confirmed(101.0, synced=True)
    assert lease.holds(109.9)
    assert not lease.holds(110.0)


def test_an_answer_of_rebalance_in_progress_renews_the_session_but_not_the_round() -> None:
    lease = FRESH.rejoined(100.0).confirmed(100.0, synced=True)
    for sent_at in range(101, 140):
        lease = lease.signalled(float(sent_at))
    assert lease.expires_at() == 129.0


def test_an_ok_before_the_sync_does_not_renew_the_round() -> None:
    lease = FRESH.rejoined(100.0).confirmed(125.0, synced=False)
    assert lease.expires_at() == 129.0


def test_a_late_answer_never_shortens_the_lease() -> None:
    lease = FRESH.rejoined(100.0).confirmed(105.0, synced=True)
    assert lease.confirmed(101.0, synced=True) == lease


def test_an_ended_lease_proves_nothing() -> None:
    assert FRESH.rejoined(1.0).confirmed(1.0, synced=True).ended().expires_at() is None


def test_ownership_that_was_never_confirmed_is_reported_lost_within_the_session() -> None:
    assert FRESH.rejoined(100.0).limit() == 109.0


@given(st.lists(st.tuples(st.sampled_from(["ok", "27", "sync"]), st.floats(0, 1e6)), max_size=20))
def test_deadlines_only_extend(history: list[tuple[str, float]]) -> None:
    lease = FRESH.rejoined(0.0).confirmed(0.0, synced=True)
    for kind, sent_at in history:
        before = lease.expires_at()
        match kind:
            case "ok":
                lease = lease.confirmed(sent_at, synced=True)
            case "27":
                lease = lease.signalled(sent_at)
            case _:
                lease = lease.rejoined(sent_at)
        after = lease.expires_at()
        assert before is not None
        assert after is not None
        assert after >= before
