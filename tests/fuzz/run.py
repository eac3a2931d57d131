"""`make fuzz`: random cases for a number of minutes, in a child with a limit on its memory and on every case's time.

A crash, a hang, an error that is not documented or too much memory is a finding; the command that repeats it is shown.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path

HERE = Path(__file__).resolve().parent
SECONDS = 10
MEMORY = 2 << 30


def run_cases(target, first, last, deadline, status):
    """Run cases in this process; findings are lines of JSON on standard output."""
    import logging

    from fuzz import targets

    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    case = targets.call_api if target == "api" else targets.Files()
    with contextlib.suppress(Exception):
        case(first)  # compiles and loads what the first case of a process has to
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY + (6 << 30), MEMORY + (6 << 30)))  # libraries map much, use little
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    peak = 0
    for seed in range(first, last):
        if time.time() > deadline:
            break
        status.seek(0)
        status.write(f"{seed:20d}")
        status.flush()
        faulthandler.dump_traceback_later(SECONDS, exit=True)
        try:
            case(seed)
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            found = {"seed": seed, "error": repr(error)[:200], "at": f"{Path(place.filename).name}:{place.lineno}"}
            sys.stdout.write(json.dumps(found) + "\n")
        faulthandler.cancel_dump_traceback_later()
        used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
        if used > max(peak, MEMORY):
            sys.stdout.write(json.dumps({"seed": seed, "error": f"memory: {used >> 20} MB", "at": "memory"}) + "\n")
        peak = max(peak, used)
    sys.stdout.write(json.dumps({"done": seed - first + (time.time() <= deadline), "peak": peak}) + "\n")


def fuzz(target, minutes, first=0, last=2**62):
    """Run cases in children until the time is over; a child that dies is a finding, and the next goes on after it."""
    deadline, done, peak, findings = time.time() + 60 * minutes, 0, 0, []
    with tempfile.NamedTemporaryFile("w+") as status:
        while first < last and time.time() < deadline:
            command = [
                sys.executable,
                "-m",
                "fuzz.run",
                "--child",
                target,
                str(first),
                str(last),
                str(deadline),
                status.name,
            ]
            child = subprocess.run(command, cwd=HERE.parent, capture_output=True, text=True, check=False)
            lines = [json.loads(line) for line in child.stdout.splitlines() if line.startswith("{")]
            findings += [line for line in lines if "error" in line]
            ended = [line for line in lines if "done" in line]
            if ended:
                done, peak = done + ended[0]["done"], max(peak, ended[0]["peak"])
                break
            status.seek(0)
            seed = int(status.read() or first)
            last_words = child.stderr.strip().splitlines() or ["no words"]
            findings.append(
                {"seed": seed, "error": f"died with {child.returncode}: {last_words[0]}", "at": "crash or hang"}
            )
            done, first = done + seed - first + 1, seed + 1
    return done, peak, findings


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=2.0)
    parser.add_argument("--seed", type=int, help="first seed; by default another one every time")
    parser.add_argument("--repeat", nargs=2, metavar=("TARGET", "SEED"), help="one case, in this process")
    parser.add_argument("--child", nargs=5)
    options = parser.parse_args()
    if options.child:
        target, first, last, deadline, status = options.child
        with open(status, "r+") as file:
            run_cases(target, int(first), int(last), float(deadline), file)
        return 0
    if options.repeat:
        from fuzz import targets

        target, seed = options.repeat
        (targets.call_api if target == "api" else targets.Files())(int(seed))
        return 0
    start = options.seed if options.seed is not None else int.from_bytes(os.urandom(4), "big") << 20
    worst = 0
    for target in ("api", "files"):
        done, peak, findings = fuzz(target, options.minutes / 2, start)
        places = {finding["at"] + finding["error"][:40]: finding for finding in findings}
        print(f"{target}: {done:,} cases from seed {start}, peak {peak >> 20} MB, {len(findings)} findings")
        for finding in places.values():
            print(
                f"  {finding['at']}: {finding['error']}; again: python -m fuzz.run --repeat {target} {finding['seed']}"
            )
        worst += len(findings)
    return 1 if worst else 0


if __name__ == "__main__":
    sys.exit(main())
