"""`make fuzz`: random and guided cases for some minutes, in children with limits on memory and on every case's time.

A crash, a hang, an error that is not documented or too much memory is a finding; the command that repeats it is shown.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import importlib.util
import json
import math
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
# Of computing; a case that waits instead may take six times as long, so that a busy machine is no finding.
SECONDS = 10
MEMORY = 2 << 30
WARM_UP = 30
# Of the time.
SHARES = {"api": 0.3, "files": 0.3, "report": 0.1, "guided": 0.3}


def run_cases(target, first, last, deadline, status):
    """Run cases in this process; findings are lines of JSON on standard output."""
    import logging

    from fuzz import targets

    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    case = targets.case_of(target)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _begin(first, 6 * SECONDS, status)
    with contextlib.suppress(Exception):
        case(np.random.default_rng(first))  # loads what the first case of a process has to
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY + (6 << 30), MEMORY + (6 << 30)))  # libraries map much, use little
    peak = 0
    for seed in range(first, last):
        if time.time() > deadline:
            break
        _begin(seed, SECONDS if seed >= first + WARM_UP else 6 * SECONDS, status)  # the first cases compile
        try:
            case(np.random.default_rng(seed))
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            found = {"seed": seed, "error": repr(error)[:200], "at": f"{Path(place.filename).name}:{place.lineno}"}
            print(json.dumps(found), flush=True)
        faulthandler.cancel_dump_traceback_later()
        held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
        if held > max(peak, MEMORY):
            print(json.dumps({"seed": seed, "error": f"memory: {held >> 20} MB", "at": "memory"}), flush=True)
        peak = max(peak, held)
    print(json.dumps({"done": seed - first + (time.time() <= deadline), "peak": peak}), flush=True)


def _begin(seed, most, status):
    """Note the case that begins, and end this process if it computes for longer than `most` seconds or hangs."""
    status.seek(0)
    status.write(f"{seed:20d}")
    status.flush()
    used = math.ceil(time.process_time() + most)
    resource.setrlimit(resource.RLIMIT_CPU, (used + 1, resource.RLIM_INFINITY))
    faulthandler.dump_traceback_later(6 * SECONDS, exit=True)


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


def guided(minutes, found):
    """Run the fuzzer that follows coverage, in a child; findings are inputs in the folder `found`."""
    command = [sys.executable, "-m", "fuzz.guided", "--minutes", str(minutes), "--found", str(found)]
    child = subprocess.run(command, cwd=HERE.parent, capture_output=True, text=True, errors="replace", check=False)
    findings = [json.loads(line) for line in child.stdout.splitlines() if line.startswith("{")]
    said = child.stderr
    if child.returncode:
        kept = re.findall(r"Test unit written to (\S+)", said)
        reason = next((line for line in said.splitlines() if "ERROR" in line or "Error" in line), "no words")
        findings.append({"input": (kept or ["none kept"])[0], "error": reason[:200], "at": "crash, hang or memory"})
    counts = [int(number) for number in re.findall(r"^(?:stat::number_of_executed_units: |#)(\d+)", said, re.M)]
    peaks = [int(number) for number in re.findall(r"rss: (\d+)Mb", said)]
    return max(counts, default=0), max(peaks, default=0) << 20, findings


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=2.0)
    parser.add_argument("--seed", type=int, help="first seed; by default another one every time")
    parser.add_argument("--only", choices=list(SHARES), help="one target, for all of the time")
    parser.add_argument("--cases", type=int, default=2**62, help="the most of each target")
    parser.add_argument("--found", default="found", help="folder for inputs that the guided fuzzer finds")
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
        targets.case_of(target)(np.random.default_rng(int(seed)))
        return 0
    start = options.seed if options.seed is not None else int.from_bytes(os.urandom(4), "big") << 20
    worst = 0
    for target in [options.only] if options.only else SHARES:
        minutes = options.minutes * (1.0 if options.only else SHARES[target])
        if target == "guided" and importlib.util.find_spec("atheris") is None:
            print("guided: left out, for atheris is not installed")
            continue
        if target == "guided":
            done, peak, findings = guided(minutes, Path(options.found).resolve())
        else:
            done, peak, findings = fuzz(target, minutes, start, min(start + options.cases, 2**62))
        print(f"{target}: {done:,} cases from seed {start}, peak {peak >> 20} MB, {len(findings)} findings", flush=True)
        for finding in {finding["at"] + finding["error"][:40]: finding for finding in findings}.values():
            again = (
                f"guided --repeat {finding['input']}"
                if target == "guided"
                else f"run --repeat {target} {finding['seed']}"
            )
            print(f"  {finding['at']}: {finding['error']}; again: python -m fuzz.{again}")
        worst += len(findings)
    return 1 if worst else 0


if __name__ == "__main__":
    sys.exit(main())
