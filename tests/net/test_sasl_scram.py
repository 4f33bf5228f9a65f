"""SCRAM: the exchanges of the RFCs, and every answer that must not be believed."""

import base64
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgroup.errors import DecodeError
from kgroup.net.sasl_scram import (
    ClientFinal,
    ClientFirst,
    ScramHash,
    ServerFirst,
    check_server_final,
    client_final,
    client_first,
    read_server_first,
)
from kgroup.net.security import Secret

PENCIL = Secret("pencil")

# RFC 5802, section 5, and RFC 7677, section 3: user "user", password "pencil".
EXCHANGES = [
    pytest.param(
        "sha1",
        "fyko+d2lbbFgONRv9qkxdawL",
        "r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j,s=QSXCR+Q6sek8bf92,i=4096",
        "c=biws,r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j,p=v0X8v3Bz2T0CJGbJQyF0X+HI4Ts=",
        "v=rmF9pqV8S7suAoZWja4dJRkFsKQ=",
        id="RFC 5802",
    ),
    pytest.param(
        "sha256",
        "rOprNGfwEbeRWgbNEkqO",
        "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096",
        "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
        "p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=",
        "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=",
        id="RFC 7677",
    ),
]

FIRST = client_first("user", "abc")
SOUND = "r=abcdef,s=c2FsdA==,i=4096"


def finish(first: ClientFirst, answer: ServerFirst, hashing: ScramHash) -> ClientFinal:
    salted = hashing.stretched(PENCIL, answer.salt, answer.iterations)
    return client_final(first, answer, salted, hashing)


@pytest.mark.parametrize(("name", "nonce", "server_first", "final", "server_final"), EXCHANGES)
def test_the_exchange_of_the_rfc_is_spoken_to_the_byte(
    name: str, nonce: str, server_first: str, final: str, server_final: str
) -> None:
    first = client_first("user", nonce)
    assert first.message == f"n,,n=user,r={nonce}".encode()
    answer = read_server_first(first, server_first.encode())
    proved = finish(first, answer, ScramHash(name))
    assert proved.message == final.encode()
    check_server_final(proved, server_final.encode())


def test_commas_and_equal_signs_of_a_name_are_escaped() -> None:
    assert client_first("a=b,c", "n").bare == "n=a=3Db=2Cc,r=n"


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ("r=abc,s=c2FsdA==,i=4096", "does not go on from ours"),
        ("r=xbcdef,s=c2FsdA==,i=4096", "does not go on from ours"),
        ("r=,s=c2FsdA==,i=4096", "does not go on from ours"),
        ("r=abcdef,s=c2FsdA==,i=1", "iterations '1': only 4,096 to 1,000,000"),
        ("r=abcdef,s=c2FsdA==,i=4095", "iterations '4095'"),
        ("r=abcdef,s=c2FsdA==,i=1000001", "iterations '1000001'"),
        ("r=abcdef,s=c2FsdA==,i=2147483648", "iterations '2147483648'"),
        ("r=abcdef,s=c2FsdA==,i=" + "9" * 5_000, "iterations '999999999999'"),
        ("r=abcdef,s=c2FsdA==,i=-1", "iterations '-1'"),
        ("r=abcdef,s=c2FsdA==,i=", "iterations ''"),
        ("r=abcdef,s=c2FsdA==,i=４０９６", "iterations"),
        ("r=abcdef,s=,i=4096", "salt is empty"),
        ("r=abcdef,s=!,i=4096", "salt is not base64"),
        ("r=abcdef,i=4096,s=c2FsdA==", "not 'r="),
        ("m=new,r=abcdef,s=c2FsdA==,i=4096", "extension"),
        ("e=other-error", "not 'r="),
        ("", "not 'r="),
        ("r=abcdef" + "x" * 70_000, "more than 65536"),
    ],
)
def test_a_first_answer_that_must_not_be_believed_is_refused(message: str, reason: str) -> None:
    with pytest.raises(DecodeError, match=reason.replace("(", r"\(")):
        read_server_first(FIRST, message.encode())


def test_extensions_behind_what_counts_are_skipped_and_signed() -> None:
    answer = read_server_first(FIRST, (SOUND + ",x=y").encode())
    assert (answer.text, answer.iterations) == (SOUND + ",x=y", 4096)


def test_bytes_that_are_no_text_are_refused() -> None:
    with pytest.raises(DecodeError, match="not UTF-8"):
        read_server_first(FIRST, b"r=abc\xff")


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ("v=" + base64.b64encode(bytes(32)).decode(), "signature is wrong"),
        ("v=", "signature is empty"),
        ("v=?", "not base64"),
        ("e=invalid-proof", "the broker refused: invalid-proof"),
        ("", "not 'v="),
        ("r=abc", "not 'v="),
    ],
)
def test_a_server_that_does_not_know_the_password_is_found_out(message: str, reason: str) -> None:
    proved = finish(FIRST, read_server_first(FIRST, SOUND.encode()), ScramHash("sha256"))
    with pytest.raises(DecodeError, match=reason):
        check_server_final(proved, message.encode())


def test_neither_the_proof_nor_the_signature_is_shown() -> None:
    proved = finish(FIRST, read_server_first(FIRST, SOUND.encode()), ScramHash("sha256"))
    _, _, proof = proved.message.decode().partition(",p=")
    assert proof not in repr(proved)
    assert repr(proved.signature) not in repr(proved)


@given(st.binary(max_size=200) | st.text(alphabet=string.printable, max_size=80).map(str.encode))
def test_any_answer_is_sound_or_a_decode_error(message: bytes) -> None:
    proved = ClientFinal(b"", b"never")
    for judge in (
        lambda: read_server_first(FIRST, message),
        lambda: check_server_final(proved, message),
    ):
        try:
            judge()
        except DecodeError:
            continue
        assert judge is not None
