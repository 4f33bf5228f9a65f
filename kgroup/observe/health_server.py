"""A small HTTP server for `/live` and `/ready`, in a thread of its own.

Decides: that it answers while the event loop is blocked: that is when a supervisor asks.
Never: waits for the event loop; says anything about records.
"""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final

from kgroup.observe.health import Monitor

__all__ = ["serving"]

log = logging.getLogger(__name__)

_PATIENCE: Final = 5.0
"""Seconds for a request to be there."""
_LOOK: Final = 0.05
"""Seconds between two looks at whether it is to end."""


@contextmanager
def serving(monitor: Monitor, port: int, host: str = "0.0.0.0") -> Iterator[int]:  # noqa: S104
    """Answer `/live` and `/ready` for one block; yields the port.

    Args:
        monitor: judges.
        port: where to listen, 0 for one that is free.
        host: address to listen at; by default every one, for probes come from outside.

    Raises:
        OSError: it cannot listen there.
    """

    class Answers(BaseHTTPRequestHandler):
        timeout = _PATIENCE

        def do_GET(self) -> None:
            self._answer()

        def do_HEAD(self) -> None:
            self._answer()

        def _answer(self) -> None:
            status, body = monitor.page(self.path.partition("?")[0]) or (404, "{}")
            said = body.encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(said)))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(said)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            log.debug(format, *args)

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        block_on_close = False

    with Server((host, port), Answers) as server:
        thread = threading.Thread(
            target=server.serve_forever, args=(_LOOK,), name="kgroup health", daemon=True
        )
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join(_PATIENCE)
