"""Each test of the original library has its own test here, which exists and names it."""

import ast
import tomllib
from pathlib import Path

import pytest

from tests.house.nodes import functions

TESTS = Path(__file__).parents[1]
ROWS: list[dict[str, str]] = tomllib.loads(
    (TESTS / "marshal" / "original_tests.toml").read_text(encoding="utf-8")
)["tests"]

OF_THE_ORIGINAL = """
    TestMessageEncode TestMessageDecode
    TestClaimed TestClaimNotMutable TestClaimNotOurs TestClaimPartition TestReclaimPartition
    TestReleaseClaim TestClaimHandoff TestPartitionExtend
    TestNewMarshaler TestClaimPartitionIntegration TestPartitionLifecycleIntegration
    TestTerminatedMarshalRemovesSelfFromCluster TestGetTopicState
    TestOffsetUpdates TestCommit TestFlush TestRelease TestTerminate TestTerminateDoesNotDeadlock
    TestCommitOutstanding TestCurrentLag TestHeartbeat TestReleaseIfWedged TestReleaseIfWedged2
    TestVelocity TestHealthCheck TestHealthCheckRelease
    TestNewConsumer TestConsumerFlush TestTerminateWithRelease TestTerminateWithoutRelease
    TestMultiClaim TestTopicClaim TestTopicClaimBlocked TestTopicClaimPartial TestMultiTopicClaim
    TestMultiTopicClaimWithLimit TestUnhealthyPartition TestConsumerHeartbeat TestCommittedOffset
    TestCommitByToken TestTryClaimPartition TestAggressiveClaim TestBalancedClaim
    TestUnhealthyReclaim TestFastReclaim TestMaximumClaims TestMaximumGreedyClaims
    TestUpdatePartitionCounts TestConsumerRemovesSelfFromMarshal TestDoubleClaim
    TestRewindConsumer TestOrderedConsume TestStrictOrdering TestHeartbeatTimeout
    TestMessageExpiration TestMessagePump
"""
"""The tests of its last version, and those that were removed from it or never merged.

Two are called TestFlush; that of a whole consumer is TestConsumerFlush here.
"""


def test_no_test_of_the_original_is_left_out() -> None:
    assert [row["name"] for row in ROWS] == OF_THE_ORIGINAL.split()


def test_no_test_here_stands_for_two_of_the_original() -> None:
    kept_by = [row["kept_by"] for row in ROWS]
    assert sorted(set(kept_by)) == sorted(kept_by)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
def test_the_test_exists_and_names_the_originals(row: dict[str, str]) -> None:
    file, _, name = row["kept_by"].partition("::")
    original = "TestFlush of a consumer" if row["name"] == "TestConsumerFlush" else row["name"]
    assert original in (ast.get_docstring(functions(file)[name]) or "")
