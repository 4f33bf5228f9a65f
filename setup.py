"""Builds the one compiled module where a compiler is there; everything else is in pyproject.toml.

`KGROUP_PURE=1` leaves it out. Without it kgroup runs the same loops in Python.
"""

import os

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel

COMPILED = Extension(
    "kgroup.wire.records._compiled",
    ["kgroup/wire/records/_compiled.c"],
    py_limited_api=True,
    optional=True,  # without a compiler kgroup is installed all the same
)

PURE = os.environ.get("KGROUP_PURE", "0") not in ("", "0")


class Wheel(bdist_wheel):
    """One wheel for CPython 3.11 and all later ones, or one for every Python."""

    def finalize_options(self) -> None:
        if not PURE:
            self.py_limited_api = "cp311"
        super().finalize_options()


setup(ext_modules=[] if PURE else [COMPILED], cmdclass={"bdist_wheel": Wheel})
