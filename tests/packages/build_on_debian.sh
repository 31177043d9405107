#!/usr/bin/env bash
# Sets up, builds and runs this checkout on a Debian of which nothing but apt is installed.
#
#   tests/packages/build_on_debian.sh SUITE [COMMAND]
#
# mmdebstrap unpacks SUITE (trixie, bookworm) into a temporary folder, and COMMAND is run there in a copy of the files that
# git knows; by default it is ./bootstrap run. Needs root, mmdebstrap and a Debian mirror; ends with 77 where one is missing,
# or where MSRUN_OTHER_DEBIANS is not set in the environment.
set -euo pipefail
cd "$(dirname "$0")/../.."
suite=$1
command=${2:-./bootstrap run}
for program in mmdebstrap git; do
  command -v $program >/dev/null || { echo "skipped: $program is not installed"; exit 77; }
done
[ -n "${MSRUN_OTHER_DEBIANS:-}" ] || { echo "skipped: MSRUN_OTHER_DEBIANS is not set"; exit 77; }
[ "$(id -u)" -eq 0 ] || { echo "skipped: this needs root"; exit 77; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/msrun"
# The checkout may be another user's.
git -c safe.directory="$PWD" ls-files -z --cached --others --exclude-standard |
  tar --null --files-from=- --ignore-failed-read --create --file - | tar --extract --file - --directory "$work/msrun"

# In a stage of its own, so that a mirror out of reach is told from a build that fails.
mmdebstrap --mode=root --variant=apt "$suite" "$work/root.tar" >"$work/log" 2>&1 ||
  { cat "$work/log"; echo "skipped: $suite could not be unpacked"; exit 77; }
mkdir "$work/root"
tar --extract --file "$work/root.tar" --directory "$work/root"
rm "$work/root.tar"
mv "$work/msrun" "$work/root/msrun"
cp /etc/resolv.conf "$work/root/etc/resolv.conf"
mount -t proc proc "$work/root/proc"
trap 'umount "$work/root/proc"; rm -rf "$work"' EXIT
chroot "$work/root" bash -c "cd /msrun && $command"
