# Completion of puzzlectl for bash: source this file, or install it as
# /usr/share/bash-completion/completions/puzzlectl. The words come from puzzlectl itself; where it
# has none, bash completes paths.
_puzzlectl() {
  local IFS=$'\n'
  # What follows the cursor does not matter, and the word under it counts up to the cursor.
  local words=("${COMP_WORDS[@]:1:COMP_CWORD}")
  # shellcheck disable=SC2207  # one word a line, and no word has a blank in it
  COMPREPLY=($("$1" __complete "${words[@]}" 2>/dev/null))
}
complete -o default -o bashdefault -F _puzzlectl puzzlectl
