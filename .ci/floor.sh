#!/bin/sh
# Runs tests of every part with the oldest versions that the metadata allows, in an environment of its own.
set -eu
cd "$(dirname "$0")/.."
venv=${1:-.venv-floor}
test -x "$venv/bin/python" || "${PYTHON:-python3}" -m venv "$venv"
# as in the Makefile, which brings uv
install() {
  { [ -x .venv/bin/uv ] && .venv/bin/uv pip install --quiet --python "$venv/bin/python" "$@"; } ||
    "$venv/bin/python" -m pip install --quiet "$@"
}
# "name>=version" becomes "name==version.*", which is the oldest series; what only tests need stays as new as it comes
oldest=$("$venv/bin/python" - <<'PYTHON'
import re
text = open("pyproject.toml", encoding="utf-8").read()
listed = re.search(r"^dependencies = \[(.*?)^\]", text, re.M | re.S).group(1)
print(*(f"{name}=={version}.*" for name, version in re.findall(r'"([\w-]+)>=([\d.]+)"', listed)))
PYTHON
)
install $oldest pytest pytest-xdist hypothesis 'pandas<3' threadpoolctl
install --no-deps --editable .
"$venv/bin/python" -m pytest -q -n 2 tests/test_kernels.py tests/test_estimator.py tests/test_model_file.py \
  tests/tables/test_programs.py tests/tables/test_decode.py tests/io/test_io_text.py tests/io/test_io_hostile.py tests/solvers/test_checkpoint.py \
  tests/test_faults.py fuzz/test_fuzz.py tests/cli/test_cli_fit.py -m "not slow" -k "not cluster"
