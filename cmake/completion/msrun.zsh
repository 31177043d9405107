# The words and options that fit behind what is typed; without one of them, files.
_msrun() {
  local key=$service
  if ((CURRENT > 2)) && (( ${(P)+${:-_msrun_options_${service}_${words[2]}}} )); then
    key=${service}_${words[2]}
  fi
  local -a entries subcommands
  entries=("${(@P)${:-_msrun_options_$key}}")
  subcommands=("${(@P)${:-_msrun_words_$key}}")
  if ((CURRENT == 2)) && (( ${#subcommands} )) && [[ $PREFIX != -* ]]; then
    _describe command subcommands
  else
    _arguments -S "$entries[@]" '*:file:_files'
  fi
}
_msrun "$@"
