"""The facade for programs of kafka-python; it is imported first, for it keeps kafka-python's own
warnings at import from the tests."""

import kgroup.compat.kafka_python  # noqa: F401
