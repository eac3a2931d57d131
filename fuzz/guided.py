"""The part of `make fuzz` that looks where it has been: atheris keeps and changes what reaches new lines of code.

The first byte of an input says what the others are: a file of some name, or what a call of the API or a report draws.
An error that is not documented is a finding, kept in a folder as small as it could be made; a crash, ten seconds or two
gigabytes end the fuzzer, which keeps the input as well.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import logging
import pkgutil
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path

import atheris

SECONDS = 10
MEGABYTES = 2048
MOST = 20_000
# Compiled by Numba, which has to see them as they are; and what is not reached from here.
LEFT_OUT = ("nearer.kernels", "nearer.cli", "nearer.distributed", "nearer.plots")

with atheris.instrument_imports(include=["nearer"], exclude=list(LEFT_OUT)):
    import nearer

    for module in pkgutil.walk_packages(nearer.__path__, "nearer."):
        if not module.name.startswith(LEFT_OUT):
            importlib.import_module(module.name)

from fuzz import targets  # noqa: E402


class Inputs:
    """What bytes mean, and what came of them."""

    def __init__(self, found):
        self.found = found
        self.seeds = targets.seed_files()
        self.kept = {f"corpus-{path.name}": path.read_bytes() for path in targets.CORPUS.iterdir()}
        self.names = sorted(name for name in self.seeds | self.kept if not name.endswith(targets.SLOW))
        self.draws = [targets.call_api, targets.make_page]
        self.folder = tempfile.mkdtemp(prefix="nearer-fuzz-")
        self.places = set()

    def write_seeds(self, folder):
        """The good files, those that once broke a reader, and some draws."""
        for number, name in enumerate(self.names):
            content = (self.seeds | self.kept)[name]
            (folder / f"seed-{number}").write_bytes(bytes([number]) + content)
        for number in range(40):
            drawn = targets.np.random.default_rng(number).bytes(120)
            (folder / f"draw-{number}").write_bytes(bytes([255 - number % len(self.draws)]) + drawn)

    def run(self, data):
        """One case."""
        kind = data[0] if data else 0
        if kind >= 256 - len(self.draws):
            self.draws[255 - kind](targets.Drawn(data[1:]))
        else:
            targets.read_file(self.names[kind % len(self.names)], data[1:], self.folder)

    def __call__(self, data):
        try:
            self.run(data)
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            at = f"{Path(place.filename).name}:{place.lineno}"
            if at not in self.places:
                self.places.add(at)
                self._keep(data, type(error), error, at)

    def _keep(self, data, kind, error, at):
        smallest = self._smallest(data, kind)
        name = self.names[smallest[0] % len(self.names)] if smallest and smallest[0] < 254 else "draws"
        path = self.found / f"{len(self.places)}-{name}"
        path.write_bytes(smallest)
        print(json.dumps({"input": str(path), "error": repr(error)[:200], "at": at}), flush=True)

    def _smallest(self, data, kind, seconds=20):
        """The input without the parts that the error does not need."""
        until, size = time.monotonic() + seconds, len(data) // 2
        while size and time.monotonic() < until:
            start = 1
            while start < len(data) and time.monotonic() < until:
                shorter = data[:start] + data[start + size :]
                try:
                    self.run(shorter)
                    start += size
                except kind:
                    data = shorter
                except Exception:
                    start += size
            size //= 2
        return data


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--found", type=Path, default=Path("found"), help="folder for inputs that are findings")
    parser.add_argument("--repeat", type=Path, help="one input, in this process")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    options.found.mkdir(parents=True, exist_ok=True)
    inputs = Inputs(options.found)
    if options.repeat:
        inputs.run(options.repeat.read_bytes())
        return
    with contextlib.suppress(Exception):
        inputs.run(b"\xff")  # compiles what the first case would
    corpus = Path(tempfile.mkdtemp(prefix="nearer-corpus-"))
    inputs.write_seeds(corpus)
    atheris.Setup(
        [
            sys.argv[0], str(corpus), f"-max_total_time={max(int(60 * options.minutes), 1)}", f"-timeout={SECONDS}",
            f"-rss_limit_mb={MEGABYTES}", f"-max_len={MOST}", f"-artifact_prefix={options.found}/",
            "-print_final_stats=1", "-verbosity=1", "-use_value_profile=1",
        ],
        inputs,
    )  # fmt: skip
    atheris.Fuzz()


if __name__ == "__main__":
    main()
