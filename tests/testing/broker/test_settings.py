"""Settings of brokers that no other test needs at another value than Kafka's own."""

from kgroup.codes import ErrorCode
from kgroup.testing.broker.settings import BrokerSettings
from tests.testing.broker.committing import Cluster
from tests.testing.broker.members import Club
from tests.testing.broker.producing import Producer


def test_a_newcomer_waits_no_longer_than_the_broker_allows() -> None:
    club = Club(new_member_join_timeout=7.0)
    a = club.member("A", session=60.0, rebalance=60.0)
    a.enter()
    a.sync()
    newcomer = club.member("B").join()
    club.raw.run(7)
    assert newcomer.now.error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert newcomer.answered_at == 7


def test_metadata_of_offsets_is_as_long_as_the_broker_allows() -> None:
    cluster = Cluster(settings=BrokerSettings(offset_metadata_limit=3))
    codes = [cluster.code(metadata=text) for text in ("abc", "abcd")]
    assert codes == [0, ErrorCode.OFFSET_METADATA_TOO_LARGE]


def test_transactions_last_as_long_as_the_broker_allows() -> None:
    producer = Producer(settings=BrokerSettings(transaction_timeout_limit=30.0))
    codes = [producer.init(timeout=seconds).error_code for seconds in (30.001, 30)]
    assert codes == [ErrorCode.INVALID_TRANSACTION_TIMEOUT, 0]
