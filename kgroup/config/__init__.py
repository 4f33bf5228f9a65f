"""One frozen value with every option of a consumer, and the slices it hands to the rooms below."""

from kgroup.config.consumer_config import ConsumerConfig
from kgroup.config.options import ConsumerOptions, FetchSettings
from kgroup.config.plugins import found_assignors

__all__ = ["ConsumerConfig", "ConsumerOptions", "FetchSettings", "found_assignors"]
