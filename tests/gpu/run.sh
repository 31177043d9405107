#!/usr/bin/env bash
# The whole check on a host with an NPU or a GPU, in one command: every recording on the accelerator and on the host's
# processor, then api_precision_compare between the two.
#
#   tests/gpu/run.sh [DUMP...]
#
# DUMP: dump.json files or their folders; by default the recordings of the tests. MSRUN: the msrun to use (default
# build/bin/msrun). MSRUN_PYTHON: the Python that has torch. DEVICES: ids (default "0"). OUT: where files go (default
# a new folder below the current one). Exit code 1 if something is suspicious or failed to run.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
msrun=${MSRUN:-$root/build/bin/msrun}
out=${OUT:-gpu-check-$(date +%Y%m%d%H%M%S)}
read -r -a devices <<<"${DEVICES:-0}"
mkdir -p "$out"

listing=$("$msrun" --list-devices)
echo "$listing"
if grep -q '^torch:npu: torch' <<<"$listing"; then
  backend=torch:npu
elif grep -q '^torch:cuda: torch' <<<"$listing"; then
  backend=torch:cuda
else
  echo "run.sh: there is no NPU and no GPU that torch can use" >&2
  exit 2
fi

dumps=("$@")
if [ ${#dumps[@]} -eq 0 ]; then
  # The build unpacks those with tensors, too.
  recordings=$root/build/data/dumps
  [ -d "$recordings" ] || recordings=$root/tests/data/dumps
  dumps=("$recordings"/*/)
fi

# Every call three times on the accelerator, which is to give the same bits; an msrun of an earlier version has no such
# option.
repeat=()
if grep -q -- '--repeat ' <<<"$("$msrun" --help)"; then
  repeat=(--repeat 3)
fi

# The number behind WORD in the line of a log that says that the run is complete.
count() { grep '^completed' "$2" | tail -1 | grep -o "$1 [0-9]*" | grep -o '[0-9]*$' || echo '?'; }

status=0
printf '%-24s %8s %8s %8s %8s %12s %s\n' recording pass warning error SKIP suspicious compared >"$out/table"
for dump in "${dumps[@]}"; do
  [ -d "$dump" ] && dump=${dump%/}/dump.json
  [ -f "$dump" ] || continue
  name=$(basename "$(dirname "$dump")")
  echo "run.sh: $name on $backend and on torch:cpu"
  "$msrun" -api_info "$dump" -o "$out/$name.cpu" --backend torch:cpu >"$out/$name.cpu.log" 2>&1 &
  on_processor=$!
  "$msrun" -api_info "$dump" -o "$out/$name" --backend "$backend" -d "${devices[@]}" "${repeat[@]}" -n 4 \
    --fail-on suspicious --summary >"$out/$name.log" 2>&1 || status=1
  wait "$on_processor" || status=1
  compared=yes
  "$msrun" api_precision_compare -npu "$out/$name"/accuracy_checking_details_*.csv \
    -gpu "$out/$name.cpu"/accuracy_checking_details_*.csv -o "$out/$name.compared" >"$out/$name.compare.log" 2>&1 ||
    compared="no, exit code $?"
  suspicious=$(grep -o '^ *[0-9]* *suspicious:' "$out/$name.log" | grep -o '[0-9][0-9]*' || echo '?')
  printf '%-24s %8s %8s %8s %8s %12s %s\n' "$name" "$(count pass "$out/$name.log")" "$(count warning "$out/$name.log")" \
    "$(count error "$out/$name.log")" "$(count SKIP "$out/$name.log")" "$suspicious" "$compared" >>"$out/table"
done
cat "$out/table"
exit $status
