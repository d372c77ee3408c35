#!/bin/sh
# What a CI job says of the stalls that its tests recorded, and of what changed since the baseline.
#
#   stalls.sh [-b BASE] [-f REGEX:+LIMIT]... [-g WHAT [-i]] [-o OUT] DUMPS [SYMBOLS]...
#
#   DUMPS     a folder of this run's dumps; an empty one is a run without stalls
#   SYMBOLS   its debug files, folders of them or stores; without any, the images' own paths on this host are tried
#   -b BASE   the baseline: the named.jsonl of a run of main, or a folder of dumps; one that is not there is a first run, and holds
#   -f LIMIT  closes the gate: stallflame's --fail-if, such as '.:+20%' or 'checkout:+200'; may be repeated
#   -g WHAT   closes the gate: stallclassify's --fail-on, such as new,regressed=20%; judges only with some 20 users and more
#   -i        that too few users tell is no failure: exit status 0 instead of 4
#   -o OUT    the folder to write to, stalls by default:
#     named.jsonl   the dumps with names: the next runs' baseline
#     missing.tsv   images without debug info
#     table.md, junit.xml, stalls.svg   the buckets, and the flame graph
#     diff.svg, changes.md, gate.txt    with a baseline: the comparison
#     comment.md    for the pull request: verdict, buckets, the ten largest changes
#     log.txt       what the commands said
#
# Exit status, after everything that can be written is: 0 the gate is open; 1 something could not be read or written; 2 usage;
# 3 the gate is closed: a limit is passed, or an image of the app lacks its symbols; 4 nothing closes it, but for -g there is too little data.
set -u
usage() {
    sed -n '4s/^# */usage: /p' "$0" >&2
    exit 2
}
quote() { printf " '%s'" "$(printf '%s' "$1" | sed "s/'/'\\\\''/g")"; }
base='' out=stalls limits='' fail_on='' allow=''
while getopts b:f:g:io: option; do
    case $option in
    b) base=$OPTARG ;;
    f) limits="$limits --fail-if$(quote "$OPTARG")" ;;
    g) fail_on=$OPTARG ;;
    i) allow=--allow-inconclusive ;;
    o) out=$OPTARG ;;
    *) usage ;;
    esac
done
shift $((OPTIND - 1))
[ $# -ge 1 ] || usage
dumps=$1
shift
symbols=''
for path; do symbols="$symbols -d$(quote "$path")"; done
mkdir -p "$out" || exit 1
for file in named.jsonl missing.tsv table.md junit.xml stalls.svg diff.svg changes.md gate.txt comment.md log.txt; do
    rm -f "$out/$file" || exit 1
done
base_named=$(mktemp) && stacks=$(mktemp -d) || exit 1
trap 'rm -rf "$base_named" "$stacks"' EXIT

# The exit status is the worst one: a number that could not be judged whole (1) counts less than a closed gate (3), and that counts more
# than too little data (4).
broken=0 closed=0 little=0
run() { # COMMAND…: says what it says, and notes its status
    "$@" 2> "$stacks/said"
    status=$?
    cat "$stacks/said" >> "$out/log.txt"
    cat "$stacks/said" >&2
    case $status in
    0) ;;
    3) closed=1 ;;
    4) little=1 ;;
    *) broken=1 ;;
    esac
    return $status
}
holds() { [ -n "$(find "$1" -type f -size +0 2> /dev/null | head -n 1)" ]; }
name() { # OUTPUT INPUT [OPTION]…
    output=$1 input=$2
    shift 2
    : > "$output" || exit 1
    if [ -e "$input" ] && ! holds "$input"; then return; fi
    eval 'run stallsym -q "$@"'"$symbols"' -o "$output" "$input"'
}

name "$out/named.jsonl" "$dumps" --require-symbols --missing-out "$out/missing.tsv"
nameless=$closed
if holds "$out/named.jsonl"; then
    run stallclassify -F markdown --top 10 -o "$out/table.md" "$out/named.jsonl"
    run stallclassify -F junit -o "$out/junit.xml" "$out/named.jsonl"
    run stallflame -q --title 'Stalls' -o "$out/stalls.svg" "$out/named.jsonl"
else
    echo 'No stall was recorded.' > "$out/table.md"
    echo '<testsuites/>' > "$out/junit.xml"
fi

fold() { # NAMED: its stacks; of no dump at all, one without weight, which can be compared with
    if holds "$1"; then run stallflame -q -F folded "$1"; else echo 'nothing 0'; fi
}
compare() {
    name "$base_named" "$base"
    old=$base_named new=$out/named.jsonl unit=
    if ! holds "$old" || ! holds "$new"; then
        fold "$old" > "$stacks/base"
        fold "$new" > "$stacks/new"
        old=$stacks/base new=$stacks/new unit='--count-name ms'
    fi
    if holds "$base_named" || holds "$out/named.jsonl"; then
        eval 'run stallflame --diff --title "Stalls: what changed" --summary "$out/changes.md" -o "$out/diff.svg" '"$unit $limits"' "$old" "$new"'
        sed -n 's/^stallflame: //p' "$stacks/said" > "$out/gate.txt"
    fi
    if [ -n "$fail_on" ] && holds "$base_named" && holds "$out/named.jsonl"; then
        run stallclassify --partial -o "$stacks/partial" "$base_named" &&
            run stallclassify --baseline "$stacks/partial" --fail-on "$fail_on" $allow "$out/named.jsonl" >> "$out/gate.txt"
    fi
}
if [ -n "$base" ] && [ -e "$base" ]; then
    if [ -d "$base" ] && [ -z "$(ls -A "$base")" ]; then base=''; else compare; fi
else
    base=''
fi

verdict='the gate is open'
[ $little = 0 ] || verdict='there is too little data to judge by'
[ $closed = 0 ] || verdict='the gate is closed'
[ $broken = 0 ] || verdict='not everything could be read'
[ -n "$base" ] || verdict="$verdict; there is no baseline to compare with"
{
    echo '<!-- stalls -->' # by which the comment is found again
    printf '## Stalls: %s\n\n' "$verdict"
    if [ $nameless = 1 ]; then
        printf 'An image of the app has no debug info:\n\n```\n' && head -n 20 "$out/missing.tsv" && printf '```\n\n'
    fi
    if [ $broken = 1 ]; then printf '```\n' && head -n 20 "$out/log.txt" && printf '```\n\n'; fi
    if [ -s "$out/gate.txt" ]; then printf '```\n' && head -n 20 "$out/gate.txt" && printf '```\n\n'; fi
    if [ -s "$out/changes.md" ]; then cat "$out/changes.md" && echo; fi
    printf '### Buckets\n\n'
    cat "$out/table.md" 2> /dev/null
} > "$out/comment.md" || exit 1
echo "stalls.sh: $verdict; see $out/" >&2
[ $broken = 0 ] || exit 1
[ $closed = 0 ] || exit 3
[ $little = 0 ] || exit 4
