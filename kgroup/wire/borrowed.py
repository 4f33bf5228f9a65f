"""aiokafka's protocol types, without aiokafka's client.

Decides: where they come from. `import aiokafka.protocol` would run `aiokafka/__init__.py`, and with
it the whole client. So the two files that declare the types are imported as a package of kgroup's.
Never: puts anything under the name `aiokafka` into `sys.modules`; an application that imports
aiokafka gets the library whole, before and after, and its types are other objects than these.

ADR 0014.
"""

import sys
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any, Final

_PACKAGE: Final = "kgroup.wire._aiokafka_protocol"


def _load() -> ModuleType:
    """Import `aiokafka/protocol/types.py`, and what it imports beside itself.

    Raises:
        ImportError: aiokafka is not installed, or has no such file.
    """
    found = find_spec("aiokafka")  # finds the folder, and runs nothing
    folders = None if found is None else found.submodule_search_locations
    if not folders:
        raise ImportError("kgroup needs aiokafka's protocol types; pip install 'aiokafka>=0.13'")
    package = ModuleType(_PACKAGE)
    package.__path__ = [f"{folder}/protocol" for folder in folders]
    sys.modules[_PACKAGE] = package
    return import_module(f"{_PACKAGE}.types")


types: Any = _load()
"""The module; it carries no static types."""
