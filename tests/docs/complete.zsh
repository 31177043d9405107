# Prints what zsh offers for a line, one a line: complete.zsh FOLDER-OF-_msrun LINE
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "PS1= PS2=; fpath=($1 \$fpath); autoload -Uz compinit; compinit -u -D"
# What is added to the list is written down; the calls that only ask for it are left alone.
zpty -w shell 'compadd() {
  if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]]; then
    builtin compadd "$@"
    return
  fi
  local -a hits
  builtin compadd -A hits "$@"
  print -rl -- "" "HIT:"$^hits
  builtin compadd "$@"
}'
zpty -w shell 'list-and-say() { zle complete-word; print -r -- "" "END-OF-""HITS" }'
zpty -w shell "zle -N list-and-say; bindkey '^I' list-and-say; print READY-TO-''COMPLETE"
zpty -r shell output '*READY-TO-COMPLETE*'
zpty -n -w shell "$2"$'\t'
zpty -r shell output '*END-OF-HITS*'
zpty -d shell
for line in ${(f)output//$'\r'/}; do
  [[ $line == HIT:?* ]] && print -r -- "${line#HIT:}"
done
exit 0
