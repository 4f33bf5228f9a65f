"""A simulated group: what each assignor would do to it, event by event.

scenario = Scenario({"orders": SimulatedTopic(8)}, events=(Join(), Join()))
for outcome in play(scenario, BUILT_IN["range"]):
    print(in_words(outcome.event), outcome.moves, outcome.balance)

- `documents`: Scenarios and outcomes as JSON documents
- `examples`: Scenarios to begin with, by name
- `fields`: Strict reading of a JSON document: each value is known by its path
- `measures`: What an assignment is worth, in numbers
- `playing`: A scenario played with one assignor, event by event
- `population`: The members and topics of a simulated group, before and after an event
- `rounds`: One rebalance of a simulated group: what members send, what the leader answers, until
  it settles
- `scenario`: What is simulated: topics, members and what they hold, and what happens to them in
  turn
- `sending`: Which user data members send to an assignor, when a group was seen with one in use
"""

from kgroup.assignors.simulator.documents import (
    outcome_document,
    read_events,
    read_scenario,
    scenario_document,
)
from kgroup.assignors.simulator.examples import EXAMPLES
from kgroup.assignors.simulator.measures import Balance, RackMatches
from kgroup.assignors.simulator.playing import Optimum, Outcome, play
from kgroup.assignors.simulator.scenario import (
    Event,
    Grow,
    Join,
    Leave,
    Restart,
    Scenario,
    SimulatedMember,
    SimulatedTopic,
    Subscribe,
    Wait,
    in_words,
)
from kgroup.assignors.simulator.sending import assumed

__all__ = [
    "EXAMPLES",
    "Balance",
    "Event",
    "Grow",
    "Join",
    "Leave",
    "Optimum",
    "Outcome",
    "RackMatches",
    "Restart",
    "Scenario",
    "SimulatedMember",
    "SimulatedTopic",
    "Subscribe",
    "Wait",
    "assumed",
    "in_words",
    "outcome_document",
    "play",
    "read_events",
    "read_scenario",
    "scenario_document",
]
