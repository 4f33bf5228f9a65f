"""Turns declarations into functions, each on first use, and keeps them.

Decides: when code is generated: once per class and version and direction, at the first message.
Compiling all of them at import would cost the better part of a second.
Never: looks at bytes.
"""

import functools
from collections.abc import Callable
from typing import Any

from kgroup.wire.decoding import write_decoder
from kgroup.wire.encoding import write_encoder
from kgroup.wire.primitives import Buffer
from kgroup.wire.source import REQUIRED, Declared, Source, has_views


@functools.cache
def decoder(cls: type[Declared], version: int, *, flexible: bool) -> Callable[[Buffer], Any]:
    """Return the function that reads a class in a version from all of some bytes."""
    decode = write_decoder(cls, version, flexible=flexible)
    if has_views(cls):
        return lambda data: decode(memoryview(data))
    return lambda data: decode(data if type(data) is bytes else bytes(data))


@functools.cache
def encoder(cls: type[Declared], version: int, *, flexible: bool) -> Callable[[Any], bytes]:
    """Return the function that writes a class in a version."""
    return write_encoder(cls, version, flexible=flexible)


@functools.cache
def constructor(cls: type[Declared]) -> Callable[..., None]:
    """Return the function that fills a new object of a class from keyword arguments."""
    source = Source()
    arguments = [
        name if field.default is REQUIRED else f"{name}={source.constant(field.default)}"
        for name, field in cls.FIELDS.items()
    ]
    with source.block(f"def __init__(self, *, {', '.join(arguments)}):"):
        for name in cls.FIELDS:
            source.line(f"{source.constant(getattr(cls, name).__set__, name)}(self, {name})")
    made = source.function("__init__", f"construct {cls.__name__}")
    made.__qualname__ = f"{cls.__name__}.__init__"
    return made
