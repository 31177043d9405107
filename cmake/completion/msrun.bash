# The words and options that fit behind what is typed; without one of them, files.
_msrun_complete() {
  local current=${COMP_WORDS[COMP_CWORD]} program=${COMP_WORDS[0]##*/} key
  key=$program
  if ((COMP_CWORD > 1)) && [[ -n ${_msrun_options["$program ${COMP_WORDS[1]}"]+set} ]]; then
    key="$program ${COMP_WORDS[1]}"
  fi
  local candidates=
  if [[ $current == -* ]]; then
    candidates=${_msrun_options[$key]}
  elif ((COMP_CWORD == 1)); then
    candidates=${_msrun_words[$key]-}
  fi
  mapfile -t COMPREPLY < <(compgen -W "$candidates" -- "$current")
}
for _msrun_key in "${!_msrun_options[@]}"; do
  [[ $_msrun_key == *' '* ]] || complete -o default -F _msrun_complete "$_msrun_key"
done
unset _msrun_key
