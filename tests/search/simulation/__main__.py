"""`make search ARGS=simulate`: play groups in virtual time, disturb them, and judge them."""

import sys

from tests.search.simulation.command import run

if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
