"""Instance ids that a restart would change are doubted; ids that stay are not."""

import pytest

from kgroup.config import ConsumerConfig
from kgroup.config.instance_ids import doubts_about_instance_id

PID = 31_337

CHANGING = [
    ("4b825dc6-42cb-6eb9-a060-e54bf8d69288", "UUID"),
    ("app-4B825DC6-42CB-6EB9-A060-E54BF8D69288", "UUID"),
    ("worker-4b825dc642cb6eb9a060e54bf8d69288", "UUID"),
    ("app-6d4cf56db6-x7k2p", "Kubernetes Deployment"),
    ("orders-reader-7f9c8d5b-q2w4z", "Kubernetes Deployment"),
    ("collector-x7k2p", "Kubernetes pod"),
    ("3f2a9c81d04e", "hash"),
    ("app_9fceb02d", "hash"),
    ("worker-1763726946", "time"),
    ("worker-1763726946123", "time"),
    ("worker-1763726946.123456", "time"),
    ("worker-20261121T1239", "time"),
    ("worker-2026-11-21_12:39:06", "time"),
    ("worker-pid77", "process id"),
    ("host1:pid=4242", "process id"),
    (f"host1-{PID}", "this process's id"),
    (f"{PID}@host1", "this process's id"),
]

STAYING = [
    "a",
    "app-0",
    "orders-reader-12",
    "rack2-shard-07",
    "billing-plant",
    "billing-rack2",
    "billing-blocks",
    "eu-central-1b",
    "host-10-0-0-17",
    "ip-172-31-5-9.internal",
    "store-1000000001",
    "backup-20261121",
    "deadbeef",
    "decade-facade",
    "rapid-fire",
    "instance-12345678",
    "kafka-consumer-production",
]


@pytest.mark.parametrize(("instance_id", "kind"), CHANGING)
def test_an_id_that_a_restart_would_change_is_doubted(instance_id: str, kind: str) -> None:
    (doubt,) = doubts_about_instance_id(instance_id, PID)
    assert repr(instance_id) in doubt
    assert kind in doubt
    assert "StatefulSet" in doubt


@pytest.mark.parametrize("instance_id", STAYING)
def test_an_id_that_stays_is_not_doubted(instance_id: str) -> None:
    assert doubts_about_instance_id(instance_id, PID) == ()


def test_a_dynamic_member_has_no_id_to_doubt() -> None:
    assert doubts_about_instance_id(None, PID) == ()


def test_the_low_process_id_of_a_container_is_no_sign() -> None:
    assert doubts_about_instance_id("app-1", 1) == ()
    assert doubts_about_instance_id("app-17", 17) == ()


def test_the_doubt_is_one_of_those_said_when_a_consumer_is_entered() -> None:
    changing = ConsumerConfig(group_id="g", group_instance_id="app-6d4cf56db6-x7k2p")
    (doubt,) = changing.doubts()
    assert "'app-6d4cf56db6-x7k2p'" in doubt
    assert ConsumerConfig(group_id="g", group_instance_id="app-0").doubts() == ()
