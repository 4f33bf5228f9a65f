"""One connection to one broker is made, plain or by TLS, in bounded time.

Decides: what is said when it cannot be made.
Never: tries again, or raises what a broker or the network has done: that is returned.
"""

import anyio
from anyio.abc import ByteStream

from kgroup.errors import ConnectionLostError
from kgroup.net.ports import Ports, os_reason
from kgroup.net.settings import Endpoint, NetSettings
from kgroup.net.tls import dial_tls


async def dial(
    endpoint: Endpoint, settings: NetSettings, ports: Ports
) -> ByteStream | ConnectionLostError:
    """Connect; return why not when it cannot be done."""
    limit, context = settings.connect_timeout, settings.security.tls
    way = ports.dial if context is None else dial_tls(ports.dial, context)
    with anyio.move_on_after(limit):
        try:
            return await way(endpoint.host, endpoint.port)
        except ConnectionLostError as error:
            return error
        except OSError as error:
            lost = ConnectionLostError(str(endpoint), os_reason(error))
            lost.__cause__ = error
            return lost
    return ConnectionLostError(str(endpoint), f"not connected within {limit:g} s")
