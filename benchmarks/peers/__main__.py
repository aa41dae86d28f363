"""`python -m benchmarks.peers`."""

import signal
import sys

from benchmarks.peers.run import main

# Ended from outside it must still end the process it waits for.
signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
sys.exit(main())
