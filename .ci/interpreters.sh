#!/bin/sh
# Makes sure that R and Octave are there for the blocks of the documentation in their languages: half a minute, once.
# gnuplot and a font are what Octave draws with where there is no screen.
set -eu

if command -v Rscript >/dev/null 2>&1 && command -v octave-cli >/dev/null 2>&1 && command -v gnuplot >/dev/null 2>&1; then
    exit 0
fi
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    echo "interpreters.sh: R, Octave or gnuplot is missing, and only root on Debian can install them here" >&2
    exit 1
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends r-base-core octave gnuplot-nox fonts-freefont-otf >/dev/null
command -v Rscript
command -v octave-cli
