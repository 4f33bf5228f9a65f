"""The fixtures `kgroup_broker` and `kgroup_cluster`, in every kind of test."""

import pytest

SYNCHRONOUS = """
    import socket
    import threading

    import pytest

    KEPT = []

    def test_a_plain_test(kgroup_broker):
        kgroup_broker.create_topic("orders", 2)
        kgroup_broker.partition("orders", 1).append("tea")
        with socket.create_connection(kgroup_broker.bootstrap[0]):
            kgroup_broker.wait_until(lambda: kgroup_broker.core is not None)
        KEPT.append(kgroup_broker)

    def test_another_one_has_a_broker_of_its_own(kgroup_broker):
        with pytest.raises(ValueError, match="no partition orders-1"):
            kgroup_broker.partition("orders", 1)
        assert kgroup_broker is not KEPT[0]

    def test_a_cluster_has_three_brokers(kgroup_cluster):
        assert len(kgroup_cluster.bootstrap_servers.split(",")) == 3
        assert kgroup_cluster.node(3).alive
        KEPT.append(kgroup_cluster)

    def test_what_fails(kgroup_broker):
        KEPT.append(kgroup_broker)
        KEPT.append(kgroup_broker.bootstrap[0])
        assert not "on purpose"

    def test_nothing_of_them_is_left():
        assert not [each for each in threading.enumerate() if "Kafka" in each.name]
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(KEPT[-1])
"""

CONSUMING = """
    import asyncio
    import pytest
    import trio

    from kgroup import Consumer

    pytestmark = pytest.mark.kgroup_broker(topics={"orders": 1})

    async def read(broker):
        broker.partition("orders").append("tea")
        async with Consumer(
            "orders",
            bootstrap_servers=broker.bootstrap_servers,
            group_id="g",
            auto_offset_reset="earliest",
        ) as consumer:
            record = await consumer.getone()
            await consumer.commit(record)
            await broker.until(broker.group("g").has_settled)
        assert record.value == b"tea"
        assert broker.group("g").committed == {("orders", 0): 1}

    @pytest.mark.anyio
    async def test_on_both_of_anyios_backends(kgroup_broker):
        await read(kgroup_broker)

    def test_in_a_loop_of_its_own(kgroup_broker):
        asyncio.run(read(kgroup_broker))

    def test_in_trio(kgroup_broker):
        trio.run(read, kgroup_broker)
"""

MARKED = """
    import pytest

    from kgroup.testing import BrokerSettings

    pytestmark = pytest.mark.kgroup_broker(topics={"orders": 3}, release="3.9.1")

    def test_of_the_module(kgroup_broker):
        assert kgroup_broker.partition("orders", 2).end == 0
        assert kgroup_broker.release == "3.9.1"

    @pytest.mark.kgroup_broker(topics={"bills": 1})
    @pytest.mark.kgroup_broker(settings=BrokerSettings(max_group_size=1))
    def test_of_its_own(kgroup_broker):
        assert kgroup_broker.topics == {"bills": 1}
        assert kgroup_broker.release == "3.9.1"
        assert kgroup_broker.settings.max_group_size == 1

    @pytest.mark.kgroup_broker(nodes=5, racks=("a", "b"))
    def test_more_brokers(kgroup_cluster):
        assert len(kgroup_cluster.bootstrap) == 5
"""

UNUSED = """
    import sys

    def test_that_wants_no_broker():
        costly = ("kgroup.testing.", "kgroup.net", "kgroup.wire", "kgroup.consumer", "aiokafka")
        here = {name for name in sys.modules if name.startswith(costly)}
        assert here == {"kgroup.testing.pytest_plugin"}
"""


@pytest.mark.slow
def test_each_synchronous_test_has_a_broker_that_ends_with_it(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(SYNCHRONOUS)
    ran = pytester.runpytest_subprocess("-W", "error")
    ran.assert_outcomes(passed=4, failed=1)
    ran.stdout.fnmatch_lines(["FAILED *test_what_fails*"])


@pytest.mark.slow
def test_a_consumer_talks_to_it_on_every_loop(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(CONSUMING)
    pytester.runpytest_subprocess("-W", "error").assert_outcomes(passed=4)


@pytest.mark.slow
def test_markers_set_it_up_the_nearest_first(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(MARKED)
    ran = pytester.runpytest_subprocess("-W", "error", "--strict-markers")
    ran.assert_outcomes(passed=3)


@pytest.mark.slow
def test_a_test_without_the_fixture_starts_no_broker(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(UNUSED)
    pytester.runpytest_subprocess("-W", "error").assert_outcomes(passed=1)


@pytest.mark.slow
def test_fixtures_and_marker_say_what_they_are_for(pytester: pytest.Pytester) -> None:
    shown = pytester.runpytest_subprocess("--fixtures", "--markers").stdout.str()
    assert "@pytest.mark.kgroup_broker(**options)" in shown
    listed = pytester.runpytest_subprocess("--fixtures").stdout.str()
    assert "One in-process broker on a loopback socket" in listed
    assert "Three in-process brokers on loopback sockets" in listed


WRONG = {
    "topic={'orders': 3}": "unknown option 'topic'; it takes, by name: nodes, topics, release, *",
    "_board=1": "unknown option '_board'; it takes, by name: *@pytest.mark.kgroup_broker(topics=*",
    "{'orders': 3}": "{'orders': 3} has no name; it takes, by name: nodes, *",
    "topics=['orders']": "topics are names and numbers of partitions*, not ?'orders'?*",
    "topics={'orders': 0}": "*0*",
    "release='1.0'": "*'1.0'*4.3.1*",
    "settings={}": "settings are a kgroup.testing.BrokerSettings, not {}*",
    "nodes=0": "nodes=0: a cluster has at least one broker*",
}


@pytest.mark.slow
def test_the_error_of_a_wrong_marker_names_the_way_out(pytester: pytest.Pytester) -> None:
    tests = [
        f"@pytest.mark.kgroup_broker({marker})\ndef test_{number}(kgroup_broker): ...\n"
        for number, marker in enumerate(WRONG)
    ]
    pytester.makepyfile("import pytest\n" + "\n".join(tests))
    ran = pytester.runpytest_subprocess()
    ran.assert_outcomes(errors=len(WRONG))
    for number, shown in enumerate(WRONG.values()):
        ran.stdout.fnmatch_lines([f"the marker kgroup_broker of *::test_{number}: {shown}"])
    assert "pytest_plugin.py" not in ran.stdout.str()
