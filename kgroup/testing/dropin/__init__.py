"""The peers' own tests, run with kgroup's facade in place of their consumer.

Decides: nothing by itself; `kgroup.testing.aiokafka_dropin` and
`kgroup.testing.kafka_python_dropin` are the pytest plug-ins, `python -m kgroup.testing.dropin`
(`make dropin`) runs both.
Never: carries a peer's test: the source tree is given, at a version that the list here knows.
"""

__all__: list[str] = []
