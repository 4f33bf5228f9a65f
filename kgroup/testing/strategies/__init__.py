"""Hypothesis strategies for what goes over the wire.

from kgroup.testing.strategies import messages
from kgroup.wire.messages import JoinGroupResponse

@given(messages(JoinGroupResponse, 9))
def test_any_answer_is_survived(answer): ...
"""

from kgroup.testing.strategies.messages import messages

__all__ = ["messages"]
