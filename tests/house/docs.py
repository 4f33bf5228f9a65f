"""Every page that is written by machine: `python -m tests.house.docs` writes them all.

Decides: which file each generated text goes to.
Never: makes a text itself.
"""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Final

from tests.house import (
    api,
    broker_page,
    marshal_page,
    porting,
    reference_pages,
    semantics_page,
    surface,
)
from tests.pages import DOCS
from tests.pages import PAGES as TABLES
from tests.simulated import replayed

PAGES: Final[Mapping[Path, Callable[[], str]]] = MappingProxyType(
    {
        api.PAGE: api.render,
        porting.PAGE: porting.render,
        semantics_page.PAGE: semantics_page.render,
        DOCS / "public-surface.md": surface.render,
        DOCS / broker_page.NAME: broker_page.render,
        **{DOCS / name: partial(marshal_page.render, name) for name in marshal_page.NAMES},
        **{DOCS / name: page for name, page in TABLES.items()},
        **{DOCS / name: partial(replayed, name) for name in ("cli.md", "which-assignor.md")},
        **{DOCS / "reference" / name: page for name, page in reference_pages.PAGES.items()},
    }
)
"""File -> what writes it."""


def write() -> None:
    """Write every page that has changed."""
    for path, page in PAGES.items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    write()
