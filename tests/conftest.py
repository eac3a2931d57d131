"""Being here puts this folder on the import path, so that tests can import `oracles` and `problems`."""

import signal

from hypothesis import settings

# A machine under load must not fail a property for its time.
settings.register_profile("nearer", deadline=None)
settings.load_profile("nearer")

# A shell that starts the tests in the background has ctrl-C ignored, by them and by all processes that they start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
