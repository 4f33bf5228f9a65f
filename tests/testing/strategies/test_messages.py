"""Whatever the strategies draw can be written in its version and comes back as it was."""

from itertools import groupby

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from kgroup.codes import ApiKey
from kgroup.errors import UnsupportedVersionError
from kgroup.testing.strategies import messages
from kgroup.wire import messages as declared
from kgroup.wire.messages import JoinGroupResponse, JoinGroupResponseMember, MetadataResponse
from kgroup.wire.schema import Message, decode, encode

CLASSES = sorted(
    (
        getattr(declared, name)
        for name in dir(declared)
        if name.endswith(("Request", "Response")) and getattr(declared, name).VERSIONS
    ),
    key=lambda cls: cls.__name__,
)

# A failure is small enough as it is: hundreds of strategies are not shrunk.
FEW = settings(database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))


def test_all_requests_and_responses_are_tried() -> None:
    assert len(CLASSES) == 2 * len(ApiKey)


def comes_back(cls: type[Message], version: int, examples: int) -> None:
    @settings(FEW, max_examples=examples)
    @given(messages(cls, version))
    def judge(message: Message) -> None:
        assert decode(cls, version, encode(message, version)) == message

    judge()


@pytest.mark.parametrize("cls", [JoinGroupResponse, MetadataResponse])
def test_what_is_drawn_comes_back_from_the_newest_version(cls: type[Message]) -> None:
    comes_back(cls, cls.VERSIONS[-1], 10)


@pytest.mark.slow
@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_what_is_drawn_comes_back_from_every_version(cls: type[Message]) -> None:
    for version in cls.VERSIONS:
        comes_back(cls, version, 4)


def test_rows_come_in_runs_of_equals() -> None:
    """Rows of equal lengths are read by a path of their own, which must be drawn often."""
    longest: list[int] = []

    @settings(FEW, max_examples=50)
    @given(messages(JoinGroupResponse, 9))
    def collect(answer: JoinGroupResponse) -> None:
        runs = groupby(answer.members)
        longest.append(max((len(list(run)) for _, run in runs), default=0))

    collect()
    assert sum(length > 3 for length in longest) > 3


@given(st.data())
@settings(max_examples=20, database=None)
def test_what_a_version_lacks_stays_at_its_default(data: st.DataObject) -> None:
    answer = data.draw(messages(JoinGroupResponse, 4))
    assert answer.protocol_type is None
    assert all(member.group_instance_id is None for member in answer.members)


@pytest.mark.parametrize("version", [-1, 10])
def test_a_version_that_is_not_spoken_is_refused_at_once(version: int) -> None:
    with pytest.raises(UnsupportedVersionError, match="not one of its versions: 0 to 9"):
        messages(JoinGroupResponse, version)


def test_a_row_has_no_version_of_its_own() -> None:
    with pytest.raises(UnsupportedVersionError, match="none"):
        messages(JoinGroupResponseMember, 0)
