"""Requests of members are counted out of a broker's log, and told per member and minute."""

import json
from pathlib import Path

from benchmarks.requests.counting import counted
from benchmarks.requests.page import requests_block

LINE = (
    '{at} [data-plane-kafka-request-handler-0] DEBUG kafka.request.logger - Completed request:{{"'
    'isForwarded":false,"requestHeader":{{"requestApiKey":1,"clientId":"c","requestApiKeyName":"'
    '{api}"}},"request":{{}}}}\n'
)


def log(*asked: tuple[str, str]) -> list[str]:
    return [LINE.format(at=at, api=api) for at, api in asked]


def test_requests_of_the_seconds_in_the_middle_count() -> None:
    lines = log(
        ("10:00:00.000", "HEARTBEAT"),
        ("10:00:05.000", "HEARTBEAT"),
        ("10:00:14.999", "HEARTBEAT"),
        ("10:00:15.000", "HEARTBEAT"),
        ("10:00:20.000", "FETCH"),
        ("10:00:21.000", "LEAVE_GROUP"),
    )
    assert counted(lines, 10.0) == {"HEARTBEAT": 2}


def test_a_producer_and_a_broker_are_no_members() -> None:
    lines = log(
        ("10:00:10.000", "PRODUCE"),
        ("10:00:10.000", "BROKER_HEARTBEAT"),
        ("10:00:20.000", "FETCH"),
    )
    assert counted([*lines, "10:00:11.000 [main] INFO other - started\n"], 10.0) == {}


def test_the_page_tells_what_a_member_asks_for_in_a_minute(tmp_path: Path) -> None:
    path = tmp_path / "requests.json"
    asked = {"HEARTBEAT": 60, "FETCH": 30, "METADATA": 1}
    clients = [{"client": "kgroup", "requests": asked}, {"client": "java", "trouble": "no Java"}]
    about = {"members": 3, "partitions": 12, "rate": 12, "seconds": 60.0, "broker": "Kafka 4.3.1"}
    path.write_text(json.dumps({**about, "clients": clients}), encoding="utf-8")
    assert list(requests_block(path))[-1].splitlines() == [
        "| client | heartbeat | fetch |",
        "| --- | --: | --: |",
        "| kgroup | 20.0 | 10.0 |",
        "| java | no Java | - |",
    ]


def test_without_results_the_page_says_nothing_of_requests(tmp_path: Path) -> None:
    assert list(requests_block(tmp_path / "none.json")) == []
