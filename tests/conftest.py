"""Being here puts this folder on the import path, so that tests can import `oracles` and `problems`."""

from hypothesis import settings

# A machine under load must not fail a property for its time.
settings.register_profile("nearer", deadline=None)
settings.load_profile("nearer")
