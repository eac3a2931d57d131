#!/bin/sh
# Makes sure that Chromium and its driver are there for the browser tests. Installs Debian's packages when run as root.
set -eu

if command -v chromium >/dev/null 2>&1 && command -v chromedriver >/dev/null 2>&1; then
    exit 0
fi
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    echo "browser.sh: chromium or chromedriver is missing, and only root on Debian can install them here" >&2
    exit 1
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends chromium chromium-driver >/dev/null
command -v chromium
command -v chromedriver
