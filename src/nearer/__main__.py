"""`python -m nearer` is the same as `nearer`."""

from __future__ import annotations

from nearer.cli import main

if __name__ == "__main__":
    main()
