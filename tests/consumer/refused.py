"""A consumer whose credentials are refused while it reads."""

import anyio
import pytest

from kgroup.errors import AuthenticationError
from tests.consumer.entered import A, by_hand
from tests.consumer.shelf import Shelf
from tests.net.scram_server import PASSWORD, SaslServer


async def refused_in_the_middle() -> None:
    """Read, lose every connection, be refused at the next ones, and go on for a minute."""
    shelf, server = Shelf(t=1), SaslServer(PASSWORD)
    for broker in shelf.brokers:
        server.serve(broker)
    who = {"sasl_username": "ada", "sasl_password": PASSWORD, "sasl_mechanism": "SCRAM-SHA-256"}
    async with by_hand(shelf, A, security_protocol="SASL_PLAINTEXT", **who) as stage:
        await stage.consumer.position(A)
        server.password = "another"
        for broker in shelf.brokers:
            broker.hang_up()
        with pytest.raises(AuthenticationError):
            await stage.consumer.getone(timeout=60)
        await anyio.sleep(60)
