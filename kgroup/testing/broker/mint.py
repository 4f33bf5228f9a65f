"""Names a broker makes up: member ids, topic ids, producer ids, session ids.

Decides: that they look like Kafka's, never repeat within a cluster, and depend on its seed and the
order of asking alone.
Never: draws chance.
"""

from hashlib import sha256

__all__ = ["Mint"]


class Mint:
    """The source of one cluster's names.

    Args:
        seed: same seed, same names.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._made = 0

    def uuid(self) -> bytes:
        """Return 16 bytes marked as a UUID of version 4."""
        self._made += 1
        made = bytearray(sha256(f"{self._seed}/{self._made}".encode()).digest()[:16])
        made[6] = made[6] & 0x0F | 0x40
        made[8] = made[8] & 0x3F | 0x80
        return bytes(made)

    def member_id(self, prefix: str) -> str:
        """Return `<prefix>-<uuid>`; the prefix is the client id, or the group instance id."""
        text = self.uuid().hex()
        cuts = (text[:8], text[8:12], text[12:16], text[16:20], text[20:])
        return f"{prefix}-{'-'.join(cuts)}"

    def session_id(self) -> int:
        """Return a positive number of 31 bits, never 0."""
        return int.from_bytes(self.uuid()[:4], "big") & 0x7FFFFFFF or 1
