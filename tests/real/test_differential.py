"""Random scripts: a real broker and the in-process one answer every request alike.

The seeds are fixed, and not those of the ledger; `make differential` takes any others.
"""

import pytest

from kgroup.testing.kafka import RealKafka
from kgroup.testing.kafka.ready import parse_bootstrap
from tests.testing.differential.campaign import compare, draw_scripts, lay_topics
from tests.testing.differential.planning import SETTINGS
from tests.testing.differential.report import describe

pytestmark = [
    pytest.mark.real,
    pytest.mark.faults,
    pytest.mark.no_stand_in("it is compared with a real one"),
]

SEED = 5000
SCRIPTS = 60
AT_ONCE = 30


@pytest.mark.parametrize("kafka", ["3.9.1", "4.3.1"], indirect=True)
def test_the_core_answers_random_scripts_as_a_real_broker_does(kafka: RealKafka) -> None:
    assert kafka.version is not None
    lay_topics(kafka)
    scripts = draw_scripts(range(SEED, SEED + SCRIPTS), SETTINGS[0], kafka.version)
    address = parse_bootstrap(kafka.bootstrap)[0]
    told: list[str] = []
    tally = compare(address, kafka.version, scripts, concurrency=AT_ONCE, say=told.append)
    found = "\n\n".join(describe(each) for each in tally.differences)
    assert not found, found
    assert tally.scripts > SCRIPTS / 2, f"this machine was too slow: {told}"
