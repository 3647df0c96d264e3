# What follows reads the tables above. Bash parts words at '=' and ':', so that --json=FILE and
# tap:NAME come as three.

# $1: the word, $2 and $3: the two before it.
_verbline_ports() {
    local kind=

    if [[ $1 == : ]]; then
        kind=$2
    elif [[ $2 == : ]]; then
        kind=$3
    fi
    case $kind in
    '')
        compopt -o nospace 2>/dev/null
        COMPREPLY=($(compgen -W "pci: tap: af_packet: af_xdp: memif: pcap: ring: null" -- "$1"))
        ;;
    af_packet | af_xdp)
        COMPREPLY=($(compgen -W "$(ls /sys/class/net 2>/dev/null)" -- "${1#:}"))
        ;;
    memif | pcap)
        COMPREPLY=($(compgen -f -- "${1#:}"))
        ;;
    esac
}

_verbline() {
    local current=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} at=$COMP_CWORD takes i

    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        COMPREPLY=($(compgen -W "$_verbline_commands --help --version" -- "$current"))
        return
    fi
    for ((i = 2; i < COMP_CWORD; i++)); do
        if [[ ${COMP_WORDS[i]} == -- ]]; then return; fi
    done

    # The option whose value this is stands before any '=' or ':' of it.
    if [[ $current == [=:] ]]; then at=$((at + 1)); fi
    if [[ ${COMP_WORDS[at - 1]} == : ]]; then at=$((at - 2)); fi
    if [[ ${COMP_WORDS[at - 1]} == = ]]; then at=$((at - 1)); fi
    takes=$(_verbline_takes "$command" "${COMP_WORDS[at - 1]}")
    if [[ $current == = ]]; then current=; fi

    case $takes in
    words\ *) COMPREPLY=($(compgen -W "${takes#words }" -- "$current")) ;;
    file) COMPREPLY=($(compgen -f -- "$current")) ;;
    directory) COMPREPLY=($(compgen -d -- "$current")) ;;
    port)
        _verbline_ports "$current" "${COMP_WORDS[COMP_CWORD - 1]}" "${COMP_WORDS[COMP_CWORD - 2]}"
        ;;
    other) ;;
    *)
        if [[ $current == -* ]]; then
            COMPREPLY=($(compgen -W "$(_verbline_options "$command")" -- "$current"))
        elif [[ $(_verbline_takes "$command" operands) == file ]]; then
            COMPREPLY=($(compgen -f -- "$current"))
        fi
        ;;
    esac
}

complete -o filenames -F _verbline verbline
