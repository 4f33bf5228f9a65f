"""Each test of the original library has one here, that exists and says its name."""

import ast
import tomllib
from functools import cache
from pathlib import Path

import pytest

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
"""Those of its last version, and below those that were removed from it or never merged.

Two are called TestFlush; that of a whole consumer is TestConsumerFlush here.
"""


def test_no_test_of_the_original_is_left_out() -> None:
    assert [row["name"] for row in ROWS] == OF_THE_ORIGINAL.split()


def test_none_stands_for_two() -> None:
    kept_by = [row["kept_by"] for row in ROWS]
    assert sorted(set(kept_by)) == sorted(kept_by)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
def test_the_test_exists_and_names_the_originals(row: dict[str, str]) -> None:
    file, _, name = row["kept_by"].partition("::")
    told = "TestFlush of a consumer" if row["name"] == "TestConsumerFlush" else row["name"]
    there = documented(TESTS / file)
    assert name in there
    assert told in there[name]


@cache
def documented(path: Path) -> dict[str, str]:
    """Return the docstring of each function of a module."""
    kinds = ast.FunctionDef | ast.AsyncFunctionDef
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {
        each.name: ast.get_docstring(each) or "" for each in tree.body if isinstance(each, kinds)
    }
