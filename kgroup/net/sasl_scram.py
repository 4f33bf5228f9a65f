"""SCRAM: proves that both sides know a password, and tells it to nobody (RFC 5802, 7677).

Decides: what the client says in its two messages, and which answers of a server it believes: a
nonce that goes on from ours, a count of iterations within bounds, a signature only a server that
knows the password can make.
Never: sends or draws anything; the nonce comes from outside. Shows a password, a proof or a
signature in an error.

    client-first: n,,n=NAME,r=NONCE
    server-first: r=NONCE+MORE,s=SALT,i=ITERATIONS
    client-final: c=biws,r=NONCE+MORE,p=PROOF
    server-final: v=SIGNATURE, or e=ERROR

Names and passwords are the UTF-8 of what was typed. RFC 5802 wants them normalised (SASLprep);
Kafka's own tools and brokers do not do it (`ScramFormatter.normalize`), so a client that did
would be refused with a password that was stored by them.
"""

import base64
import binascii
import hashlib
import hmac
from typing import Final

from kgroup.errors import DecodeError
from kgroup.net.security import Secret
from kgroup.values import dataclass

MIN_ITERATIONS: Final = 4_096
"""Fewer make the password easy to guess for a listener on the wire (RFC 7677)."""
MAX_ITERATIONS: Final = 1_000_000
"""More would keep a client busy for seconds at the will of the server."""

_GS2_HEADER: Final = "n,,"
"""No channel binding, no other identity."""
_MAX_MESSAGE: Final = 65_536
_SERVER_FIRST: Final = "SCRAM server-first message"
_SERVER_FINAL: Final = "SCRAM server-final message"


@dataclass(frozen=True, slots=True)
class ScramHash:
    """The hash function of a mechanism.

    Args:
        name: as `hashlib` knows it.
    """

    name: str

    def keyed(self, key: bytes, data: bytes) -> bytes:
        """Return HMAC(key, data)."""
        return hmac.digest(key, data, self.name)

    def plain(self, data: bytes) -> bytes:
        """Return H(data)."""
        return hashlib.new(self.name, data).digest()

    def stretched(self, password: Secret, salt: bytes, iterations: int) -> bytes:
        """Return Hi(password, salt, iterations); takes half a second for a million iterations."""
        return hashlib.pbkdf2_hmac(self.name, password.reveal().encode(), salt, iterations)


@dataclass(frozen=True, slots=True)
class ClientFirst:
    """What we said first.

    Args:
        bare: the message without its GS2 header.
        nonce: ours, printable ASCII without a comma.
    """

    bare: str
    nonce: str

    @property
    def message(self) -> bytes:
        """What is sent."""
        return (_GS2_HEADER + self.bare).encode()


@dataclass(frozen=True, slots=True)
class ServerFirst:
    """What the server answered.

    Args:
        text: the whole message.
        nonce: ours and its own.
        salt: of the password.
        iterations: within the bounds.
    """

    text: str
    nonce: str
    salt: bytes
    iterations: int


@dataclass(frozen=True, slots=True, repr=False)
class ClientFinal:
    """What we say last, and what must come back.

    Args:
        message: what is sent.
        signature: that a server which knows the password answers.
    """

    message: bytes
    signature: bytes


def client_first(name: str, nonce: str) -> ClientFirst:
    """Begin.

    Args:
        name: of the user.
        nonce: fresh and unguessable, printable ASCII without a comma.
    """
    escaped = name.replace("=", "=3D").replace(",", "=2C")
    return ClientFirst(f"n={escaped},r={nonce}", nonce)


def read_server_first(first: ClientFirst, message: bytes) -> ServerFirst:
    """Read the first answer and judge it.

    Raises:
        DecodeError: it is none, or one that a client must not go along with.
    """
    text = _text(_SERVER_FIRST, message)
    attributes = text.split(",")
    if text.startswith("m="):
        raise DecodeError(_SERVER_FIRST, "it wants an extension that kgroup does not know")
    if [attribute[:2] for attribute in attributes[:3]] != ["r=", "s=", "i="]:
        raise DecodeError(_SERVER_FIRST, "not 'r=...,s=...,i=...'")
    nonce, salt, count = (attribute[2:] for attribute in attributes[:3])
    if not nonce.startswith(first.nonce) or len(nonce) == len(first.nonce):
        raise DecodeError(_SERVER_FIRST, "its nonce does not go on from ours")
    iterations = int(count) if count.isascii() and count.isdigit() and len(count) <= 10 else 0
    if not MIN_ITERATIONS <= iterations <= MAX_ITERATIONS:
        bounds = f"only {MIN_ITERATIONS:,} to {MAX_ITERATIONS:,} are accepted"
        raise DecodeError(_SERVER_FIRST, f"iterations {count[:12]!r}: {bounds}")
    return ServerFirst(text, nonce, _bytes(_SERVER_FIRST, "salt", salt), iterations)


def client_final(
    first: ClientFirst, answer: ServerFirst, salted: bytes, hashing: ScramHash
) -> ClientFinal:
    """Prove that we know the password.

    Args:
        first: what we said.
        answer: what came back.
        salted: `hashing.stretched` of the password, with the answer's salt and iterations.
        hashing: of the mechanism.
    """
    binding = base64.b64encode(_GS2_HEADER.encode()).decode()
    bare = f"c={binding},r={answer.nonce}"
    signed = f"{first.bare},{answer.text},{bare}".encode()
    client_key = hashing.keyed(salted, b"Client Key")
    signature = hashing.keyed(hashing.plain(client_key), signed)
    proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
    message = f"{bare},p={base64.b64encode(proof).decode()}".encode()
    return ClientFinal(message, hashing.keyed(hashing.keyed(salted, b"Server Key"), signed))


def check_server_final(final: ClientFinal, message: bytes) -> None:
    """Read the last answer, and be sure that the server knows the password, too.

    Raises:
        DecodeError: it refuses, or cannot prove it.
    """
    first, _, _ = _text(_SERVER_FINAL, message).partition(",")
    if first.startswith("e="):
        raise DecodeError(_SERVER_FINAL, f"the broker refused: {first[2:100]}")
    if not first.startswith("v="):
        raise DecodeError(_SERVER_FINAL, "not 'v=...'")
    signature = _bytes(_SERVER_FINAL, "signature", first[2:])
    if not hmac.compare_digest(signature, final.signature):
        reason = "its signature is wrong: the server that answers does not know the password"
        raise DecodeError(_SERVER_FINAL, reason)


def _text(what: str, message: bytes) -> str:
    if len(message) > _MAX_MESSAGE:
        raise DecodeError(what, f"{len(message)} bytes, more than {_MAX_MESSAGE}")
    try:
        return message.decode()
    except UnicodeDecodeError:
        raise DecodeError(what, "not UTF-8") from None


def _bytes(what: str, name: str, text: str) -> bytes:
    try:
        found = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise DecodeError(what, f"its {name} is not base64") from None
    if not found:
        raise DecodeError(what, f"its {name} is empty")
    return found
