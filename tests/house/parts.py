"""Pages of which only some parts are written by machine.

Decides: what stands between two comments `<!-- NAME -->` and `<!-- end -->` of a page.
Never: touches what stands elsewhere on it.
"""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

_PART: Final = re.compile(r"<!-- (\w+) -->\n.*?<!-- end -->", re.DOTALL)


def filled(page: Path, parts: Mapping[str, Callable[[], str]]) -> str:
    """Return a page with its parts written anew.

    Args:
        page: its file.
        parts: name of a part -> what writes it.

    Raises:
        KeyError: the page has a part that nobody writes.
    """
    text = page.read_text(encoding="utf-8")
    return _PART.sub(lambda found: f"<!-- {found[1]} -->\n{parts[found[1]]()}\n<!-- end -->", text)
