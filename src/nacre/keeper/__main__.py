"""What the keeper's Python is started with. Finds the package without `site`, which costs more than all the rest."""

import os
import sys

sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

from nacre.keeper.server.main import main

main()
