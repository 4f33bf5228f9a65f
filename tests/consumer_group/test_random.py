"""Members of one group in random lives: answers that are late or lost, listeners that dawdle.

After each event nobody owns what another one owns, and whoever may hand out records of a partition
has it by the coordinator's own book. At the end, left in peace, they share everything.
"""

import pytest

from kgroup.machine.wishes import Polled, Unsubscribed
from tests.consumer_group.driver import SESSION
from tests.consumer_group.world import TOPICS, World


def anything(world: World) -> None:
    dice = world.dice
    life = dice.choice(world.lives)
    moves = (
        (10, lambda: world.pass_time(dice.uniform(0.0, 1.5))),
        (1, lambda: world.pass_time(dice.uniform(0.0, SESSION * 1.5))),
        (10, lambda: world.deliver(life)),
        (8, lambda: world.drain(life)),
        (8, lambda: world.return_from_listener(life)),
        (2, lambda: world.lose(life)),
        (2, lambda: life.subscribe(*dice.choice(TOPICS))),
        (1, lambda: life.on(Unsubscribed())),
        (4, lambda: life.on(Polled())),
    )
    weights = [weight for weight, _ in moves]
    dice.choices([move for _, move in moves], weights)[0]()
    world.look()


def live(seed: int, events: int) -> None:
    world = World(seed)
    for life in world.lives:
        life.subscribe(*world.dice.choice(TOPICS))
    for _ in range(events):
        anything(world)
    world.at_peace()


@pytest.mark.parametrize("seed", range(40))
def test_a_random_life_hands_out_nothing_that_another_one_has(seed: int) -> None:
    live(seed, 150)


@pytest.mark.search
@pytest.mark.parametrize("seed", range(1000, 1200))
def test_a_long_random_life_hands_out_nothing_that_another_one_has(seed: int) -> None:
    live(seed, 1500)
