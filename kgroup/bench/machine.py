"""What every figure depends on: interpreter, packages, processor, load."""

import os
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any


def environment(*packages: str) -> dict[str, Any]:
    """Describe this machine now, with the versions of `packages`."""
    return {
        "python": platform.python_version(),
        "packages": {name: version(name) for name in packages},
        "machine": platform.machine(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "load_average": os.getloadavg(),
    }


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if not info.exists():
        return platform.processor()
    lines = info.read_text(encoding="utf-8").splitlines()
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else ""
