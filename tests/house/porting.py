"""The page on porting: its tables are written by machine, the rest by hand.

Decides: where the tables stand, and which programs the page holds.
"""

from functools import partial
from pathlib import Path
from typing import Final

from tests.house.aiokafka_names import methods_table, options_table
from tests.house.migrating import programs_of
from tests.house.parts import filled
from tests.pages import DOCS

PAGE: Final[Path] = DOCS / "porting-from-aiokafka.md"

render: Final = partial(filled, PAGE, {"options": options_table, "calls": methods_table})
programs: Final = partial(programs_of, PAGE)
