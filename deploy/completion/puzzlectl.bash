# Completion of puzzlectl for bash: source this file, or install it as
# /usr/share/bash-completion/completions/puzzlectl. The words come from puzzlectl itself; where it
# has none, bash completes paths.
_puzzlectl() {
  # The line itself, up to the cursor: bash's own words are cut at ':' and '=', as in endpoints.
  local line=${COMP_LINE:0:COMP_POINT} words
  read -ra words <<<"$line"
  [[ $line == *[[:space:]] ]] && words+=('')
  mapfile -t COMPREPLY < <("$1" __complete "${words[@]:1}" 2>/dev/null)
}
complete -o default -o bashdefault -F _puzzlectl puzzlectl
