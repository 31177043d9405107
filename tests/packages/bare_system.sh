#!/usr/bin/env bash
# Whether the packages in dist/ run on a system without any build tool: a minimal Debian is unpacked into a folder, the .deb
# is installed and the .tar.gz unpacked there, and both check a sample recording. Needs root, debootstrap and a Debian
# mirror.
#
#   ./bootstrap package && tests/packages/bare_system.sh [FOLDER]
set -euo pipefail
cd "$(dirname "$0")/../.."
root=${1:-$(mktemp -d)}
[ -e "$root/usr/bin/dpkg" ] || debootstrap --variant=minbase bookworm "$root" >"$root.log" 2>&1
mkdir -p "$root/check"
cp dist/msrun[-_]* tests/data/dumps/llama_bf16/dump.json "$root/check/"
cat >"$root/check/run.sh" <<'INSIDE'
set -eu
cd /check
for tool in gcc g++ cc cmake ninja python3; do
  ! command -v $tool >/dev/null || { echo "$tool is there: not a bare system"; exit 1; }
done
rm -rf archive && mkdir archive && tar -xzf msrun-*.tar.gz -C archive --strip-components=1
missing=$(ldd archive/bin/msrun archive/lib/msrun/* 2>/dev/null | grep "not found" || true)
[ -z "$missing" ] || { echo "$missing"; exit 1; }
check() {
  rm -rf "out-$1"
  "$2" -api_info dump.json -n 2 -d 0 1 --backend sim -o "out-$1" --no-summary
  test "$(tail -n +2 out-"$1"/accuracy_checking_result_*.csv | wc -l)" -eq 84
  "$2" help compare >/dev/null
}
check archive archive/bin/msrun
apt-get update -q >/dev/null && apt-get install -y -q --no-install-recommends ./msrun_*.deb >/dev/null
check deb msrun
cmp out-archive/accuracy_checking_details_*.csv out-deb/accuracy_checking_details_*.csv
echo "both packages ran: $(msrun --version)"
INSIDE
mountpoint -q "$root/proc" || mount -t proc proc "$root/proc"
trap 'umount "$root/proc"' EXIT
chroot "$root" bash /check/run.sh
