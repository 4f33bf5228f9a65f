"""Options as text: from a file, from a command line, or from another program's table of options.

Decides: which reading of a text an option takes: the text itself, a number or `true`, or a list.
Never: reads a file; changes what an option may be (`consumer_config`).
"""

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from kgroup.config.consumer_config import normal
from kgroup.errors import ConfigError

_WORDS: Final[Mapping[str, object]] = MappingProxyType(
    {"true": True, "false": False, "none": None, "null": None}
)


def meant(name: str, text: str) -> object:
    """Return the first reading of a text that its option takes.

    Args:
        name: of an option of `ConsumerConfig`.
        text: such as "30", "true" or "a:9092, b:9092".

    Raises:
        ConfigError: it takes none of them.
    """
    readings = (text, _literal(text), [part.strip() for part in text.split(",")])
    refused: ConfigError | None = None
    for reading in readings:
        try:
            normal(name, reading)
        except ConfigError as error:
            refused = refused or error
        else:
            return reading
    assert refused is not None
    raise refused


def _literal(text: str) -> object:
    word = text.lower()
    if word in _WORDS:
        return _WORDS[word]
    try:
        return json.loads(text)
    except ValueError:
        return text
