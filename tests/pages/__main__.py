"""`python -m tests.pages` writes every generated page."""

from tests.pages import write

write()
