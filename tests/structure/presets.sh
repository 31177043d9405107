#!/bin/sh
# Configures the build with the presets that nothing else in the tests configures, each in a folder of its own, without
# building: a mistake in what only they set is found here and not when somebody needs them.
#   presets.sh CMAKE SOURCE
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for preset in debug asan tsan; do
  if ! (cd "$2" && "$1" --preset "$preset" -B "$folder/$preset") >"$folder/output" 2>&1; then
    cat "$folder/output"
    echo "The preset $preset cannot be configured."
    exit 1
  fi
done
