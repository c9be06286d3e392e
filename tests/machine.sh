#!/bin/sh
# Installs the Debian packages named, or all of tests/lab/packages.txt, where they are missing. Needs root only for that.
set -eu
here=$(dirname "$0")
wanted=${*:-$(grep -v '^#' "$here/lab/packages.txt")}
missing=""
for package in $wanted; do
  dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing="$missing $package"
done
# The lab takes packages for its boxes from this machine's lists, which may be old or gone.
[ $# -gt 0 ] || [ "$(id -u)" != 0 ] || apt-get update -qq || echo "apt-get update failed; going on with what is here" >&2
[ -n "$missing" ] || exit 0
if [ "$(id -u)" != 0 ]; then
  echo "missing Debian packages:$missing" >&2
  echo "install them with: sudo apt-get install$missing" >&2
  exit 1
fi
# Packages that bring services must not start them here.
policy=/usr/sbin/policy-rc.d
made=""
if [ ! -e "$policy" ]; then
  printf '#!/bin/sh\nexit 101\n' > "$policy"
  chmod 755 "$policy"
  made=yes
fi
trap '[ -z "$made" ] || rm -f "$policy"' EXIT
apt-get update -qq
# shellcheck disable=SC2086 # a list of words
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
