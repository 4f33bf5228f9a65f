"""What tests, demos and users need to run against a Kafka, real or in the process.

A name is imported when it is first asked for: the pytest plugin of kgroup is loaded into every test
run of its users, and must cost those that do not use it nothing.

- `broker`: A Kafka in the process: real bytes, the rules of real brokers, any clock
- `kafka`: Real Kafka brokers behind one call
- `strategies`: Hypothesis strategies for what goes over the wire
- `pytest_plugin`: The pytest plugin of kgroup: Kafka brokers as fixtures, and a list of which
  test used which
- `requests`: Requests by name, for rules and questions of tests:
  `broker.answers.lose(HeartbeatRequest)`
- `virtual_time`: Virtual time for async tests: hours pass in milliseconds, on asyncio and on trio
"""

import importlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from kgroup.testing.broker.inprocess import InProcessBroker
    from kgroup.testing.broker.settings import BrokerSettings

__all__ = ["BrokerSettings", "InProcessBroker"]

_HOMES: Final = {
    "BrokerSettings": "kgroup.testing.broker.settings",
    "InProcessBroker": "kgroup.testing.broker.inprocess",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401  # as every module's attributes
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(home), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
