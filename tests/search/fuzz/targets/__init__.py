"""All targets by name."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from tests.search.fuzz.target import Target
from tests.search.fuzz.targets.assigning import ASSIGNING
from tests.search.fuzz.targets.compressed import COMPRESSED
from tests.search.fuzz.targets.coordination import COORDINATION
from tests.search.fuzz.targets.embedded import EMBEDDED
from tests.search.fuzz.targets.frames import FRAMES
from tests.search.fuzz.targets.members import MEMBERS
from tests.search.fuzz.targets.metadata import METADATA
from tests.search.fuzz.targets.records import RECORDS
from tests.search.fuzz.targets.requests import REQUESTS
from tests.search.fuzz.targets.responses import RESPONSES
from tests.search.fuzz.targets.user_data import USER_DATA

TARGETS: Final[Mapping[str, Target]] = MappingProxyType(
    {
        target.name: target
        for target in (
            *(FRAMES, RESPONSES, REQUESTS, RECORDS, COMPRESSED),
            *(EMBEDDED, COORDINATION, MEMBERS, METADATA, USER_DATA, ASSIGNING),
        )
    }
)
