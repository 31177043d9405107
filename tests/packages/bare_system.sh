#!/usr/bin/env bash
# Whether the packages in dist/ run on a system without any build tool: a minimal Debian is unpacked into a folder, the .deb
# is installed and the .tar.gz unpacked there, and both check a sample recording; so does the archive with each build of
# the numeric kernels that this processor can run, and the verdicts are the same. Needs root, debootstrap and a Debian mirror.
#
#   ./bootstrap package && tests/packages/bare_system.sh [FOLDER]
set -euo pipefail
cd "$(dirname "$0")/../.."
root=${1:-$(mktemp -d)}
[ -e "$root/usr/bin/dpkg" ] || debootstrap --variant=minbase bookworm "$root" >"$root.log" 2>&1
mkdir -p "$root/check"
rm -f "$root"/check/msrun[-_]*
cp dist/msrun-*-"$(uname -m)".tar.gz dist/msrun_*_"$(dpkg --print-architecture)".deb tests/data/dumps/llama_bf16/dump.json "$root/check/"
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
# A library in LD_LIBRARY_PATH comes before those that the loader chooses from by the processor.
levels=0
for folder in archive/lib archive/lib/glibc-hwcaps/*; do
  level=$(basename "$folder")
  case $level in
    lib) ;;
    *) "$(echo /lib*/ld-linux-*.so.*)" --help | grep -q "$level (supported" || { echo "not for this processor: $level"; continue; } ;;
  esac
  mkdir -p "levels/$level" && cp "$folder/libmsrun_kernels.so" "levels/$level/"
  export LD_LIBRARY_PATH=/check/levels/$level:/check/archive/lib
  ldd archive/bin/msrun | grep -q "levels/$level/libmsrun_kernels"
  check "$level" archive/bin/msrun
  unset LD_LIBRARY_PATH
  cut -d, -f1-3 out-archive/accuracy_checking_result_*.csv >verdicts
  cut -d, -f1-3 "out-$level"/accuracy_checking_result_*.csv | cmp - verdicts
  levels=$((levels + 1))
done
echo "builds of the kernels that ran: $levels; the loader takes $(ldd archive/bin/msrun | grep -o '/[^ ]*libmsrun_kernels[^ ]*')"
apt-get update -q >/dev/null && apt-get install -y -q --no-install-recommends ./msrun_*.deb >/dev/null
check deb msrun
cmp out-archive/accuracy_checking_details_*.csv out-deb/accuracy_checking_details_*.csv
echo "both packages ran: $(msrun --version)"
INSIDE
mountpoint -q "$root/proc" || mount -t proc proc "$root/proc"
trap 'umount "$root/proc"' EXIT
chroot "$root" bash /check/run.sh
