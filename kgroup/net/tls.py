"""TLS: the connection below the protocol, encrypted, with a broker that proved its name.

Decides: how a context is made from files, that the host that was dialled is the one the
certificate must name, and in which words a failed handshake is reported.
Never: goes on without verifying, except on a context of the user's own that says so. Retries.
"""

import ssl
from collections.abc import Callable, Mapping
from typing import Any, Final

import anyio
from anyio.abc import ByteStream

from kgroup.errors import ConfigError, ConnectionLostError, TlsError
from kgroup.net.ports import Dial
from kgroup.net.security import Secret
from kgroup.values import dataclass

_HINTS: Final = {
    "WRONG_VERSION_NUMBER": "no TLS is spoken there; is this the port of an SSL listener?",
    "TLSV13_ALERT_CERTIFICATE_REQUIRED": (
        "the broker wants a client certificate (ssl_certfile, ssl_keyfile)"
    ),
    "TLSV1_ALERT_UNKNOWN_CA": "the broker does not trust the client certificate",
    # What Java says to a client without a certificate, too.
    "SSLV3_ALERT_BAD_CERTIFICATE": (
        "the broker does not accept the client certificate, or misses one (ssl_certfile)"
    ),
    "SSLV3_ALERT_CERTIFICATE_EXPIRED": "the client certificate has expired",
    "SSLV3_ALERT_CERTIFICATE_UNKNOWN": "the broker does not accept the client certificate",
    "SSLV3_ALERT_HANDSHAKE_FAILURE": "no common protocol version or cipher, or no certificate",
}
"""OpenSSL's word -> what to look at."""

_UNTRUSTED: Final = frozenset({2, 18, 19, 20, 21})
"""OpenSSL's numbers for certificates of authorities that are not known here."""

_HUNG_UP: Final = (
    ssl.SSLZeroReturnError,  # what Python 3.11.2 says of an end in the handshake
    anyio.EndOfStream,
    anyio.BrokenResourceError,
)


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """Where trust and identity are read; every file is PEM.

    Args:
        cafile: certificates that are trusted, None for those the system trusts.
        certfile: our own certificate and its chain, None without one.
        keyfile: its key, None when it is in `certfile`.
        password: of the key, None when it is not encrypted.
        check_hostname: whether the broker's certificate must name the host that was dialled.
    """

    cafile: str | None = None
    certfile: str | None = None
    keyfile: str | None = None
    password: Secret | None = None
    check_hostname: bool = True


def tls_context(files: TlsFiles) -> ssl.SSLContext:
    """Return a context for clients: TLS 1.2 or newer, the broker's certificate verified.

    Raises:
        ConfigError: a file cannot be read, or does not hold what it should.
    """
    try:
        context = ssl.create_default_context(ssl.Purpose.SERVER_AUTH, cafile=files.cafile)
    except (OSError, ssl.SSLError) as error:
        expected = f"a readable PEM file of trusted certificates ({_said(error)})"
        raise ConfigError("ssl_cafile", files.cafile, expected) from error
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.check_hostname = files.check_hostname
    if files.certfile is not None:
        _load_identity(context, files.certfile, files)
    return context


def _load_identity(context: ssl.SSLContext, certfile: str, files: TlsFiles) -> None:
    # Without a password OpenSSL would ask for one at the terminal, and wait.
    password = "" if files.password is None else files.password.reveal()
    try:
        context.load_cert_chain(certfile, files.keyfile, password=password)
    except (OSError, ssl.SSLError) as error:
        given = certfile if files.keyfile is None else f"{certfile}, {files.keyfile}"
        expected = (
            "readable PEM files of a certificate and the key that fits it, ssl_password if the "
            f"key is encrypted ({_said(error)})"
        )
        # Not `from error`: with a password in hand no frame of OpenSSL's is worth showing.
        raise ConfigError("ssl_certfile", given, expected) from None


def dial_tls(dial: Dial, context: ssl.SSLContext) -> Dial:
    """Return a `Dial` that shakes hands before anything is said.

    Args:
        dial: makes the connection below.
        context: of a client; its `check_hostname` decides whether names are compared.
    """

    from anyio.streams.tls import TLSStream  # noqa: PLC0415 - most connections are plain

    async def dial_and_shake_hands(host: str, port: int) -> ByteStream:
        stream = await dial(host, port)
        try:
            return await TLSStream.wrap(
                _OneSender(stream),
                server_side=False,
                hostname=host,
                ssl_context=context,
                standard_compatible=False,
            )
        except _HUNG_UP as error:
            await anyio.aclose_forcefully(stream)
            hint = "is this the port of an SSL listener?"
            reason = f"TLS: the broker closed the connection during the handshake; {hint}"
            raise ConnectionLostError(_address(host, port), reason) from error
        except ssl.SSLError as error:
            await anyio.aclose_forcefully(stream)
            raise tls_failure(error, host, port) from error
        except ValueError as error:
            # A name that cannot stand in a certificate; a broker may advertise anything.
            await anyio.aclose_forcefully(stream)
            raise TlsError(_address(host, port), f"TLS: host {host!r}: {error}") from error
        except BaseException:
            await anyio.aclose_forcefully(stream)
            raise

    return dial_and_shake_hands


def tls_failure(error: ssl.SSLError, host: str, port: int) -> TlsError:
    """Return in words why no secure connection came about, or why one ended.

    Args:
        error: of OpenSSL.
        host: that was dialled.
        port: the same.
    """
    return TlsError(_address(host, port), f"TLS: {_why(error, host)}")


def _why(error: ssl.SSLError, host: str) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        untrusted = error.verify_code in _UNTRUSTED
        way_out = "; ssl_cafile names the authorities that are trusted" if untrusted else ""
        return f"the certificate of {host!r} is not accepted: {error.verify_message}{way_out}"
    word = error.reason or _said(error)
    hint = _HINTS.get(word)
    return f"{hint} ({word})" if hint else word


def _said(error: OSError) -> str:
    return error.strerror or str(error) or type(error).__name__


def _address(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


class _OneSender(ByteStream):
    """A stream that takes one `send` after the other.

    1. The writer waits in `send` for a socket that is full. 2. TLS, while reading, has to answer
    the peer by itself (a new key after 2^37 bytes, for instance) and sends, too. 3. Sockets of
    anyio refuse two senders at once. The lock keeps the order in which they came, which is the
    order in which TLS made the bytes.

    Args:
        stream: the connection below.
    """

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream
        self._turn = anyio.Lock()

    async def send(self, item: bytes) -> None:
        """Send, when those before have sent."""
        async with self._turn:
            await self._stream.send(item)

    async def receive(self, max_bytes: int = 65536) -> bytes:
        """Receive from the connection below."""
        return await self._stream.receive(max_bytes)

    async def send_eof(self) -> None:
        """Close the sending side."""
        await self._stream.send_eof()

    async def aclose(self) -> None:
        """Close the connection below."""
        await self._stream.aclose()

    @property
    def extra_attributes(self) -> Mapping[Any, Callable[[], Any]]:
        """What is known of the connection below."""
        return self._stream.extra_attributes
