"""Intervals that cannot go together."""

import pytest

from kgroup.config import ConsumerConfig
from kgroup.errors import ConfigError


@pytest.mark.parametrize("beat", [10.0, 12.0])
def test_a_heartbeat_that_comes_no_sooner_than_the_session_ends_is_refused(beat: float) -> None:
    with pytest.raises(ConfigError, match=r"less than session_timeout \(10 s\)") as caught:
        ConsumerConfig(session_timeout=10.0, heartbeat_interval=beat)
    assert caught.value.option == "heartbeat_interval"


def test_a_heartbeat_that_leaves_no_second_chance_is_doubted() -> None:
    (doubt,) = ConsumerConfig(session_timeout=10.0, heartbeat_interval=5.0).doubts()
    assert "below three heartbeat_interval" in doubt


@pytest.mark.parametrize("option", ["max_poll_interval", "rebalance_timeout", "session_timeout"])
def test_what_ends_before_a_second_heartbeat_can_prove_ownership_is_doubted(option: str) -> None:
    doubts = ConsumerConfig.of({option: 3.4, "heartbeat_interval": 3.0}).doubts()
    assert [each for each in doubts if "hardly a record" in each and f"{option} (3.4 s)" in each]
    doubts = ConsumerConfig.of({option: 3.6, "heartbeat_interval": 3.0}).doubts()
    assert not [each for each in doubts if "hardly a record" in each]
