"""The releases a cluster can pass for, against what real brokers of 3.9.1 and 4.3.1 advertised."""

import pytest

from kgroup.codes import ApiKey, ErrorCode
from kgroup.testing.broker.cluster.finding import unsupported_version
from kgroup.testing.broker.context import Context
from kgroup.testing.broker.core import Core
from kgroup.testing.broker.releases import NEWEST, RELEASES, CoordinatorKind, release_named
from kgroup.wire.frames import decode_response, encode_response, request_class
from kgroup.wire.messages import ApiVersionsRequest, ApiVersionsResponse
from tests import vectors
from tests.testing.broker.driver import Raw, asking, surroundings

NOT_SERVED = {
    ApiKey.SASL_HANDSHAKE,
    ApiKey.SASL_AUTHENTICATE,
    ApiKey.DESCRIBE_ACLS,
    ApiKey.CREATE_ACLS,
    ApiKey.DELETE_ACLS,
}
_PREVIEWED = {ApiKey.CONSUMER_GROUP_HEARTBEAT, ApiKey.CONSUMER_GROUP_DESCRIBE}
"""Not spoken as 3.9 has them."""


def measured(name: str) -> dict[ApiKey, tuple[int, int]]:
    """Read what a real broker answered, cut to the versions kgroup can read and write."""
    frames = [
        bytes.fromhex(line["x"])[4:]
        for line in vectors.stream(f"broker/versions-{name}")
        if line.get("n") == "ApiVersions" and line["d"] == "<" and line["v"] == 3
    ]
    _, answer = decode_response(ApiVersionsRequest, 3, frames[0])
    assert isinstance(answer, ApiVersionsResponse)
    ranges = {}
    for row in answer.api_keys:
        left_out = NOT_SERVED | (_PREVIEWED if name.startswith("3") else set())
        if row.api_key in set(ApiKey) - left_out:
            known = request_class(ApiKey(row.api_key)).VERSIONS
            low, high = max(row.min_version, known[0]), min(row.max_version, known[-1])
            ranges[ApiKey(row.api_key)] = low, high
    return ranges


def passing_for(name: str) -> Raw:
    """Make a cluster of one broker of a release."""
    given, release = surroundings(), release_named(name)
    context = Context(
        given.agenda, given.outbox, given.settings, release, release.coordinator, given.mint
    )
    return Raw(Core(context, 1))


@pytest.mark.parametrize("name", ["3.9.1", "4.3.1"])
def test_the_ranges_of_a_measured_release_are_those_of_the_real_broker(name: str) -> None:
    assert dict(RELEASES[name].ranges) == measured(name)


@pytest.mark.parametrize("name", RELEASES)
def test_every_range_lies_in_what_kgroup_can_read_and_write(name: str) -> None:
    for api, (lowest, highest) in RELEASES[name].ranges.items():
        assert lowest <= highest
        assert {lowest, highest} <= set(request_class(api).VERSIONS)


@pytest.mark.parametrize("name", RELEASES)
def test_api_versions_lists_exactly_what_is_served(name: str) -> None:
    raw = passing_for(name)
    answer = raw.ask(1, ApiVersionsRequest(client_software_name="k", client_software_version="1"))
    listed = {
        (row.api_key, version)
        for row in answer.now.api_keys
        for version in range(row.min_version, row.max_version + 1)
    }
    served = {
        (api, version)
        for api in ApiKey
        for version in request_class(api).VERSIONS
        if raw.core.serves(request_class(api), version)
    }
    assert listed == served


@pytest.mark.parametrize("name", RELEASES)
def test_every_api_of_a_release_has_a_handler(name: str) -> None:
    raw = passing_for(name)
    for api, (_, highest) in RELEASES[name].ranges.items():
        assert raw.core.serves(request_class(api), highest), api.name


def test_what_has_no_handler_is_not_listed_whatever_the_release_speaks() -> None:
    raw = asking()
    assert set(raw.core.context.release.ranges) >= NOT_SERVED
    keys = {row.api_key for row in raw.ask(1, ApiVersionsRequest(), version=0).now.api_keys}
    assert not keys & NOT_SERVED
    assert not raw.core.serves(request_class(ApiKey.SASL_HANDSHAKE), 0)


def test_group_coordinators_are_the_old_ones_up_to_3_9() -> None:
    kinds = [release.coordinator for release in RELEASES.values()]
    assert kinds == [CoordinatorKind.OLD] * 2 + [CoordinatorKind.NEW] * 3


def test_4_0_dropped_old_versions_and_4_1_took_two_of_them_back() -> None:
    joins = [RELEASES[name].ranges[ApiKey.JOIN_GROUP] for name in ("3.9.1", "4.0.0", "4.1.0")]
    assert joins == [(0, 9), (2, 9), (0, 9)]


@pytest.mark.parametrize(
    ("given", "meant"), [("4.3.1", "4.3.1"), ("4.3", "4.3.1"), ("3.9", "3.9.1"), ("2", "2.8.2")]
)
def test_a_release_is_found_by_the_beginning_of_its_name(given: str, meant: str) -> None:
    assert release_named(given) is RELEASES[meant]


@pytest.mark.parametrize("given", ["3.7", "4.33", "3.", ""])
def test_an_unknown_release_is_refused_with_the_known_ones(given: str) -> None:
    with pytest.raises(ValueError, match=rf"no release is called '{given}'; known are 2\.8\.2, 3"):
        release_named(given)


def test_a_name_that_several_releases_share_is_refused() -> None:
    with pytest.raises(ValueError, match="several releases are called '4'"):
        release_named("4")


def test_a_version_of_api_versions_that_is_not_spoken_gets_the_bytes_of_a_real_broker() -> None:
    frames = {
        line["d"]: line
        for line in vectors.stream("broker/versions-4.3.1")
        if line.get("n") == "ApiVersions" and line["v"] == 5
    }
    answer = unsupported_version(RELEASES["4.3.1"])
    made = encode_response(answer, ApiKey.API_VERSIONS, 0, frames["<"]["i"])
    assert made.hex() == frames["<"]["x"]


@pytest.mark.parametrize(("name", "version"), [("", "1"), ("a b", "1"), ("-a", "1"), ("a", "1-")])
def test_odd_names_of_client_software_are_refused_from_version_3_on(
    name: str, version: str
) -> None:
    raw = passing_for(NEWEST)
    request = ApiVersionsRequest(client_software_name=name, client_software_version=version)
    new = raw.ask(1, request, version=3).now
    assert (new.error_code, new.api_keys) == (ErrorCode.INVALID_REQUEST, ())
    assert raw.ask(1, request, version=2).now.error_code == ErrorCode.NONE
