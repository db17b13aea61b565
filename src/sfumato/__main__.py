"""`python -m sfumato` is the same as the command `sfumato`."""

import sys

from sfumato.cli import main

sys.exit(main())
