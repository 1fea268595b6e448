# Completion of puzzlectl for fish: put this file into ~/.config/fish/completions. The words come
# from puzzlectl itself; where it has none, fish completes paths.
function __puzzlectl_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l candidates ($words[1] __complete $words[2..-1] 2>/dev/null)
    if test (count $candidates) -gt 0
        printf '%s\n' $candidates
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c puzzlectl -f -a '(__puzzlectl_complete)'
