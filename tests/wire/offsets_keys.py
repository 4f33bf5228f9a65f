"""Keys of `__consumer_offsets`, written as a coordinator writes them."""

from kgroup.wire.offsets_log import Key


def written(key: Key) -> bytes:
    """Return the bytes of a key."""
    data = key.type.to_bytes(2, "big")
    for field in key[1:]:
        if isinstance(field, str):
            data += len(field.encode()).to_bytes(2, "big") + field.encode()
        else:
            data += int(field).to_bytes(4, "big", signed=True)
    return data
