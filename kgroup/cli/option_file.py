"""Options of a consumer out of a file: TOML, or lines of `name = value`.

Decides: how a name may be written (`security.protocol` is `security_protocol`), and which value a
line without quotes means: text where the option takes text, else a number, a truth or a list.
Never: knows options by itself; whatever `ConsumerConfig` has may stand in a file.
"""

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from kgroup.config.rules import check_names, normal
from kgroup.errors import ConfigError

__all__ = ["read_options"]

_COMMENTS: Final = ("#", "!", ";")
_HIDDEN: Final = "(not shown)"


def read_options(path: Path) -> dict[str, object]:
    """Return option name -> value.

    Args:
        path: TOML when its name ends in `.toml`, else lines of `name = value`; `#` begins a line
            that is passed over.

    Raises:
        ConfigError: the file cannot be read, a name is no option (the nearest is named), or a
            value cannot be used.
    """
    try:
        text = path.read_text(encoding="utf-8")
        found = tomllib.loads(text) if path.suffix.lower() == ".toml" else _lines(text)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ConfigError("config", str(path), f"a readable file of options ({reason})") from None
    options = {_underscored(name): value for name, value in found.items()}
    # Without the values: a mistyped name may stand before a password.
    check_names(dict.fromkeys(options, _HIDDEN))
    if path.suffix.lower() == ".toml":
        return options
    return {name: _meant(name, str(value)) for name, value in options.items()}


def _underscored(name: str) -> str:
    return name.strip().replace(".", "_").replace("-", "_")


def _lines(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith(_COMMENTS):
            continue
        name, equals, value = line.partition("=")
        if not equals:
            raise ValueError(f"line {number} is no 'name = value'")
        found[name] = value.strip()
    return found


def _meant(name: str, text: str) -> object:
    """Return the first reading of a value that its option takes.

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
    words: Mapping[str, object] = {"true": True, "false": False, "none": None, "null": None}
    try:
        return words.get(text.lower(), text) if text.lower() in words else json.loads(text)
    except ValueError:
        return text
