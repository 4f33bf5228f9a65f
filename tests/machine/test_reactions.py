"""The reactions table: total, and right where real brokers were measured."""

import pytest

from kgroup.codes import ApiKey, ErrorCode
from kgroup.machine.reactions import GROUP_APIS, REACTIONS, Reaction, reaction

MEASURED = [
    (ApiKey.JOIN_GROUP, ErrorCode.MEMBER_ID_REQUIRED, Reaction.TAKE_MEMBER_ID),
    (ApiKey.JOIN_GROUP, ErrorCode.UNKNOWN_MEMBER_ID, Reaction.LOSE_MEMBER),
    (ApiKey.JOIN_GROUP, ErrorCode.UNKNOWN_SERVER_ERROR, Reaction.RETRY_BOUNDED),
    (ApiKey.JOIN_GROUP, ErrorCode.NOT_COORDINATOR, Reaction.FIND_COORDINATOR),
    (ApiKey.JOIN_GROUP, ErrorCode.GROUP_MAX_SIZE_REACHED, Reaction.REFUSE),
    (ApiKey.SYNC_GROUP, ErrorCode.REBALANCE_IN_PROGRESS, Reaction.REJOIN),
    (ApiKey.SYNC_GROUP, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, Reaction.REJOIN_LATER),
    (ApiKey.SYNC_GROUP, ErrorCode.NETWORK_EXCEPTION, Reaction.REJOIN_LATER),
    (ApiKey.HEARTBEAT, ErrorCode.REBALANCE_IN_PROGRESS, Reaction.REJOIN),
    (ApiKey.HEARTBEAT, ErrorCode.ILLEGAL_GENERATION, Reaction.LOSE_GENERATION),
    (ApiKey.HEARTBEAT, ErrorCode.UNKNOWN_MEMBER_ID, Reaction.LOSE_MEMBER),
    (ApiKey.CONSUMER_GROUP_HEARTBEAT, ErrorCode.UNKNOWN_MEMBER_ID, Reaction.LOSE_GENERATION),
    (ApiKey.CONSUMER_GROUP_HEARTBEAT, ErrorCode.FENCED_MEMBER_EPOCH, Reaction.LOSE_GENERATION),
    (ApiKey.CONSUMER_GROUP_HEARTBEAT, ErrorCode.UNRELEASED_INSTANCE_ID, Reaction.AWAIT_RELEASE),
    (ApiKey.CONSUMER_GROUP_HEARTBEAT, ErrorCode.UNSUPPORTED_ASSIGNOR, Reaction.REFUSE),
    (ApiKey.CONSUMER_GROUP_HEARTBEAT, ErrorCode.INVALID_REGULAR_EXPRESSION, Reaction.REFUSE),
    (ApiKey.CONSUMER_GROUP_HEARTBEAT, ErrorCode.INVALID_REQUEST, Reaction.REFUSE),
    (ApiKey.OFFSET_COMMIT, ErrorCode.STALE_MEMBER_EPOCH, Reaction.RENEW_EPOCH),
    (ApiKey.OFFSET_FETCH, ErrorCode.STALE_MEMBER_EPOCH, Reaction.RENEW_EPOCH),
    (ApiKey.OFFSET_COMMIT, ErrorCode.GROUP_ID_NOT_FOUND, Reaction.LOSE_MEMBER),
    (ApiKey.OFFSET_COMMIT, ErrorCode.REBALANCE_IN_PROGRESS, Reaction.REJOIN),
    (ApiKey.OFFSET_COMMIT, ErrorCode.OFFSET_METADATA_TOO_LARGE, Reaction.REFUSE),
    (ApiKey.OFFSET_FETCH, ErrorCode.UNSTABLE_OFFSET_COMMIT, Reaction.RETRY),
    (ApiKey.FIND_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE, Reaction.RETRY),
    (ApiKey.LIST_OFFSETS, ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT, Reaction.NOTHING),
    (ApiKey.METADATA, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, Reaction.MISSING),
    (ApiKey.METADATA, ErrorCode.LEADER_NOT_AVAILABLE, Reaction.RETRY),
    (ApiKey.METADATA, ErrorCode.REBOOTSTRAP_REQUIRED, Reaction.REBOOTSTRAP),
    (ApiKey.API_VERSIONS, ErrorCode.UNSUPPORTED_VERSION, Reaction.DOWNGRADE),
    (ApiKey.CREATE_TOPICS, ErrorCode.NOT_CONTROLLER, Reaction.REFRESH),
]

LEADER_APIS = [ApiKey.FETCH, ApiKey.LIST_OFFSETS, ApiKey.OFFSET_FOR_LEADER_EPOCH]


@pytest.mark.parametrize(("api", "code", "expected"), MEASURED)
def test_a_measured_code_has_its_reaction(api: ApiKey, code: ErrorCode, expected: Reaction) -> None:
    assert reaction(api, code) is expected


@pytest.mark.parametrize(
    "api",
    [
        ApiKey.JOIN_GROUP,
        ApiKey.SYNC_GROUP,
        ApiKey.HEARTBEAT,
        ApiKey.CONSUMER_GROUP_HEARTBEAT,
        ApiKey.OFFSET_COMMIT,
    ],
)
def test_a_fenced_member_never_retries(api: ApiKey) -> None:
    assert reaction(api, ErrorCode.FENCED_INSTANCE_ID) is Reaction.FENCE


@pytest.mark.parametrize("api", ApiKey)
def test_only_zero_is_success(api: ApiKey) -> None:
    assert [code for code in range(-2, 200) if reaction(api, code) is Reaction.SUCCEED] == [0]


@pytest.mark.parametrize("api", ApiKey)
def test_a_number_no_one_knows_is_not_retried(api: ApiKey) -> None:
    assert reaction(api, 9999) is Reaction.REFUSE


@pytest.mark.parametrize("api", GROUP_APIS)
def test_every_api_of_a_group_has_its_own_cells(api: ApiKey) -> None:
    assert api in REACTIONS


def test_evicting_an_unknown_member_is_refused() -> None:
    assert reaction(ApiKey.LEAVE_GROUP, ErrorCode.UNKNOWN_MEMBER_ID) is Reaction.REFUSE


# -- asked of a partition's leader -----------------------------------------------------------


def test_only_out_of_range_asks_the_reset_policy() -> None:
    asking = {
        (api, code)
        for api in ApiKey
        for code in ErrorCode
        if reaction(api, code) is Reaction.OUT_OF_RANGE
    }
    assert asking == {(ApiKey.FETCH, ErrorCode.OFFSET_OUT_OF_RANGE)}


@pytest.mark.parametrize("api", LEADER_APIS)
@pytest.mark.parametrize("code", [3, 5, 6, 9, 56, 74, 100, 103])
def test_a_leader_that_moved_is_looked_for(api: ApiKey, code: int) -> None:
    assert reaction(api, code) is Reaction.REFRESH


@pytest.mark.parametrize("api", LEADER_APIS)
@pytest.mark.parametrize("code", [75, 7, -1])
def test_a_broker_that_is_behind_is_asked_again(api: ApiKey, code: int) -> None:
    assert reaction(api, code) is Reaction.RETRY


@pytest.mark.parametrize("api", [*LEADER_APIS, ApiKey.METADATA, ApiKey.OFFSET_FETCH])
def test_a_right_that_is_missing_is_reported_and_may_be_granted(api: ApiKey) -> None:
    assert reaction(api, ErrorCode.TOPIC_AUTHORIZATION_FAILED) is Reaction.UNAUTHORIZED


@pytest.mark.parametrize("api", LEADER_APIS)
def test_the_reactions_of_a_leaders_answer_are_those_its_reader_knows(api: ApiKey) -> None:
    known = {
        Reaction.SUCCEED,
        Reaction.REFRESH,
        Reaction.RETRY,
        Reaction.UNAUTHORIZED,
        Reaction.REFUSE,
    }
    known |= {ApiKey.FETCH: {Reaction.OUT_OF_RANGE, Reaction.CORRUPT}}.get(api, set())
    known |= {ApiKey.LIST_OFFSETS: {Reaction.NOTHING}}.get(api, set())
    assert {reaction(api, code) for code in range(-2, 200)} == known


def test_after_any_other_error_a_handshake_begins_anew() -> None:
    found = {reaction(ApiKey.API_VERSIONS, code) for code in ErrorCode if code not in (0, 35)}
    assert found == {Reaction.REFUSE}
