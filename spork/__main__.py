"""`python -m spork`."""

import sys

from .cli import main

sys.exit(main())
