"""The reactions table: total, and right where real brokers were measured."""

import pytest

from kgroup.codes import ApiKey, ErrorCode
from kgroup.machine.reactions import GROUP_APIS, Reaction, reaction

MEASURED = [
    (ApiKey.JOIN_GROUP, ErrorCode.MEMBER_ID_REQUIRED, Reaction.TAKE_MEMBER_ID),
    (ApiKey.JOIN_GROUP, ErrorCode.UNKNOWN_MEMBER_ID, Reaction.DROP_MEMBER),
    (ApiKey.JOIN_GROUP, ErrorCode.UNKNOWN_SERVER_ERROR, Reaction.RETRY_BOUNDED),
    (ApiKey.JOIN_GROUP, ErrorCode.NOT_COORDINATOR, Reaction.FIND_COORDINATOR),
    (ApiKey.JOIN_GROUP, ErrorCode.GROUP_MAX_SIZE_REACHED, Reaction.REFUSE),
    (ApiKey.SYNC_GROUP, ErrorCode.REBALANCE_IN_PROGRESS, Reaction.REJOIN),
    (ApiKey.SYNC_GROUP, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, Reaction.REJOIN_LATER),
    (ApiKey.HEARTBEAT, ErrorCode.REBALANCE_IN_PROGRESS, Reaction.REJOIN),
    (ApiKey.HEARTBEAT, ErrorCode.ILLEGAL_GENERATION, Reaction.DROP_GENERATION),
    (ApiKey.HEARTBEAT, ErrorCode.UNKNOWN_MEMBER_ID, Reaction.DROP_MEMBER),
    (ApiKey.OFFSET_COMMIT, ErrorCode.GROUP_ID_NOT_FOUND, Reaction.DROP_MEMBER),
    (ApiKey.OFFSET_COMMIT, ErrorCode.REBALANCE_IN_PROGRESS, Reaction.REJOIN),
    (ApiKey.OFFSET_COMMIT, ErrorCode.OFFSET_METADATA_TOO_LARGE, Reaction.REFUSE),
    (ApiKey.OFFSET_FETCH, ErrorCode.UNSTABLE_OFFSET_COMMIT, Reaction.RETRY),
    (ApiKey.FIND_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE, Reaction.RETRY),
]


@pytest.mark.parametrize(("api", "code", "expected"), MEASURED)
def test_a_measured_code_has_its_reaction(api: ApiKey, code: ErrorCode, expected: Reaction) -> None:
    assert reaction(api, code) is expected


@pytest.mark.parametrize(
    "api",
    [ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP, ApiKey.HEARTBEAT, ApiKey.OFFSET_COMMIT],
)
def test_a_fenced_member_never_retries(api: ApiKey) -> None:
    assert reaction(api, ErrorCode.FENCED_INSTANCE_ID) is Reaction.FENCE


@pytest.mark.parametrize("api", GROUP_APIS)
def test_only_zero_is_success(api: ApiKey) -> None:
    assert [code for code in range(-2, 200) if reaction(api, code) is Reaction.SUCCEED] == [0]


@pytest.mark.parametrize("api", [api for api in GROUP_APIS if api is not ApiKey.LEAVE_GROUP])
def test_a_number_no_one_knows_is_not_retried(api: ApiKey) -> None:
    assert reaction(api, 9999) is Reaction.REFUSE


def test_leaving_is_best_effort() -> None:
    assert reaction(ApiKey.LEAVE_GROUP, ErrorCode.UNKNOWN_MEMBER_ID) is Reaction.IGNORE
