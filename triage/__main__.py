"""``python -m triage``, for where the command is not on the path."""

import sys

from triage.cli import main

sys.exit(main())
