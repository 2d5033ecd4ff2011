"""Start program of the keeper's Python. Finds the package without `site`, whose import would take most of the start
time."""

import os
import sys

sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

from nacre.keeper.server.main import main

main()
