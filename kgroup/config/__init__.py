"""One frozen value with every option of a consumer, and the slices it hands to the rooms below.

- `consumer_config`: Every option of a consumer, its default, and which room reads it
- `fetch_settings`: What the consumer's fetching reads of the options
- `instance_ids`: Whether a group instance id is one that a restart would change
- `options`: The options of a consumer as keyword arguments, for type checkers and editors
- `plugins`: Assignors that other distributions install
- `rules`: What an option may be: one small rule per kind of value
- `text`: Options as text: from a file, a command line, or another program's table of options
- `security`: The options of TLS and SASL, seen together
"""

from kgroup.config.consumer_config import ConsumerConfig
from kgroup.config.fetch_settings import FetchSettings
from kgroup.config.options import ConsumerOptions
from kgroup.config.plugins import found_assignors

__all__ = ["ConsumerConfig", "ConsumerOptions", "FetchSettings", "found_assignors"]
