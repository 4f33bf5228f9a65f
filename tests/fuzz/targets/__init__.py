"""All targets by name."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from tests.fuzz.target import Target
from tests.fuzz.targets.assigning import ASSIGNING
from tests.fuzz.targets.compressed import COMPRESSED
from tests.fuzz.targets.coordination import COORDINATION
from tests.fuzz.targets.embedded import EMBEDDED
from tests.fuzz.targets.frames import FRAMES
from tests.fuzz.targets.members import MEMBERS
from tests.fuzz.targets.metadata import METADATA
from tests.fuzz.targets.records import RECORDS
from tests.fuzz.targets.requests import REQUESTS
from tests.fuzz.targets.responses import RESPONSES
from tests.fuzz.targets.user_data import USER_DATA

TARGETS: Final[Mapping[str, Target]] = MappingProxyType(
    {
        target.name: target
        for target in (
            *(FRAMES, RESPONSES, REQUESTS, RECORDS, COMPRESSED),
            *(EMBEDDED, COORDINATION, MEMBERS, METADATA, USER_DATA, ASSIGNING),
        )
    }
)
