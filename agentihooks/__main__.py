"""Run the command: `python -m agentihooks`."""

import sys

from agentihooks.cli import main

sys.exit(main())
