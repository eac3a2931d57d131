"""Memory and cores that this process may use."""

from __future__ import annotations

import os
from pathlib import Path

_CGROUPS = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
)


def available_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def available_memory() -> int | None:
    """Bytes left to this process, by machine, container and its own limit; None if unknown."""
    found = [_of_machine(), *(_of_container(*files) for files in _CGROUPS), _of_process()]
    return min((size for size in found if size is not None), default=None)


def check_memory(n_bytes: float, what: str, remedy: str) -> None:
    """Raise if a lower bound on the memory needed exceeds what is available."""
    available = available_memory()
    if available is not None and n_bytes > available:
        raise ValueError(f"{what}: needs about {_shown(n_bytes)}, and {_shown(available)} are free; {remedy}")


def _shown(n_bytes: float) -> str:
    units = ["TB", "GB", "MB", "kB", "bytes"]
    while n_bytes >= 1000 and len(units) > 1:
        n_bytes /= 1000
        units.pop()
    return f"{n_bytes:,.0f} {units[-1]}" if n_bytes >= 10 else f"{n_bytes:.1f} {units[-1]}"


def _of_machine() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration, ValueError, IndexError):
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def _of_container(limit: str, used: str) -> int | None:
    try:
        return max(int(Path(limit).read_text()) - int(Path(used).read_text()), 0)
    except (OSError, ValueError):  # no such file, or "max"
        return None


def _of_process() -> int | None:
    try:
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        if limit == resource.RLIM_INFINITY:
            return None
        used = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (ImportError, OSError, ValueError, IndexError):
        return None
    return max(limit - used, 0)
