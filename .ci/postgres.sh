#!/bin/sh
# Makes sure that PostgreSQL is there for the tests, which start a private cluster of their own. Installs Debian's
# package when run as root; no server of the system is started or needed.
set -eu

if command -v initdb >/dev/null 2>&1 || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1; then
    exit 0
fi
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    echo "postgres.sh: PostgreSQL is missing, and only root on Debian can install it here" >&2
    exit 1
fi
export DEBIAN_FRONTEND=noninteractive
mkdir -p /etc/postgresql-common
# The package would start a cluster for the whole system.
printf 'create_main_cluster = false\n' >/etc/postgresql-common/createcluster.conf
apt-get update -qq
apt-get install -y -qq --no-install-recommends postgresql >/dev/null
ls /usr/lib/postgresql/*/bin/initdb
