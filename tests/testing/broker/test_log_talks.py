"""What a broker in the process says about logs and transactions is what real ones said."""

import pytest

from tests.testing.broker.talks.gallery import CONVERSATIONS
from tests.testing.broker.talks.recorded import RELEASES, recorded
from tests.testing.broker.talks.talk import Talk, pure


@pytest.mark.parametrize("conversation", CONVERSATIONS)
@pytest.mark.parametrize("release", RELEASES)
def test_a_conversation_goes_as_recorded_from_a_real_broker(
    release: str, conversation: str
) -> None:
    talk = Talk(pure(release), release.startswith("4"), "x")
    CONVERSATIONS[conversation](talk)

    assert talk.said == recorded(release, conversation)
