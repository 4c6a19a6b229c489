"""`python -m spork`."""

import sys

try:
    from .cli import main

    sys.exit(main())
except KeyboardInterrupt:  # while the imports were still under way
    print("spork: interrupted", file=sys.stderr)
    sys.exit(130)
