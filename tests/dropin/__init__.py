"""The peers' own tests, run with kgroup's facade in place of their consumer.

Decides: nothing by itself; `tests.dropin.aiokafka_plugin` and
`tests.dropin.kafka_python_plugin` are the pytest plug-ins, `python -m tests.dropin`
(`make dropin`) runs both.
Never: carries a peer's test: the source tree is given, at a version that the list here knows.
"""

__all__: list[str] = []
