"""`python -m kgroup.cli` is the `kgroup` command."""

import sys

from kgroup.cli import main

sys.exit(main())
