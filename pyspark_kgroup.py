"""Where Spark finds `format("kgroup")` by itself: it imports each module whose name begins so."""

from kgroup.spark.source import KGroupSource as DefaultSource

__all__ = ["DefaultSource"]
