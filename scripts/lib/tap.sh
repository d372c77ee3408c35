# shellcheck shell=bash
# TAP for test scripts. First line: `. "$(dirname "$0")/../lib/tap.sh" || exit 1`; last line: `tap_end`.
# Sourcing it goes to the top of the tree, and makes $tmp, a folder that is removed when the script ends; a script that has more to clean up
# defines cleanup(). $out is the build folder and $bin its commands, as absolute paths.
#
#   plan N                         the number of tests, where it is known before; else tap_end prints it
#   check NAME COMMAND...          passes if the command ends with status 0; what it prints is shown if it does not
#   result STATUS NAME             passes if STATUS is 0
#   complaints NAME [TEXT]         passes if TEXT is empty (without it: standard input), and shows it otherwise
#   pass NAME, fail NAME           for what is decided elsewhere
#   skip NAME WHY                  one test that cannot run here
#   skip_many COUNT WHY            so many of them
#   skip_all NAME WHY              all: ends the script. After plan, every test of the plan is skipped.
#   tap_end                        the plan if none was printed, and the exit status
#
#   status WANT COMMAND...         for check: does the command end with this status? Its output goes to $tmp/out and $tmp/err.
#
# The files of the array tap_evidence ($tmp/err and $tmp/out), where they exist, are shown below a test that fails.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
case ${O:-build} in /*) out=${O:-} ;; *) out=$PWD/${O:-build} ;; esac
# shellcheck disable=SC2034 # for the scripts
bin=$out/bin
tmp=$(mktemp -d) || exit 1
tap_log=$tmp.log
tap_number=0 tap_failed=0 tap_planned=
tap_evidence=("$tmp/err" "$tmp/out")
cleanup() { :; }
trap 'cleanup; rm -rf "$tmp" "$tap_log"' EXIT

plan() { tap_planned=$1 && echo "1..$1"; }

pass() {
    tap_number=$((tap_number + 1))
    echo "ok $tap_number - $1"
}

# The first and the last lines of each file, without tests that passed.
tap_show() {
    local file
    for file; do
        [ ! -s "$file" ] || awk '!/^ok / { line[++n] = substr($0, 1, 500) }
            END { for (i = 1; i <= n; i++) if (i <= 20 || i > n - 20) print "# " line[i]; else if (i == 21) print "# ..." }' "$file"
    done
}

fail() {
    tap_number=$((tap_number + 1)) tap_failed=1
    echo "not ok $tap_number - $1"
    tap_show "${tap_evidence[@]}"
}

result() { if [ "$1" -eq 0 ]; then pass "$2"; else fail "$2"; fi; }

check() {
    local name=$1
    shift
    if "$@" > "$tap_log" 2>&1; then
        pass "$name"
    else
        fail "$name"
        tap_show "$tap_log"
    fi
}

complaints() {
    if [ $# -gt 1 ]; then printf '%s' "$2" > "$tap_log"; else cat > "$tap_log"; fi
    if [ ! -s "$tap_log" ]; then
        pass "$1"
    else
        fail "$1"
        tap_show "$tap_log"
    fi
}

status() {
    local want=$1 got
    shift
    "$@" > "$tmp/out" 2> "$tmp/err"
    got=$?
    [ $got -eq "$want" ] || { echo "exit status $got, not $want" >> "$tmp/err" && return 1; }
}

skip() {
    tap_number=$((tap_number + 1))
    echo "ok $tap_number - ${1:+$1 }# SKIP $2"
}

skip_many() {
    local i
    for ((i = 0; i < $1; i++)); do skip '' "$2"; done
}

skip_all() {
    [ -n "$tap_planned" ] || plan 1
    while [ "$tap_number" -lt "$tap_planned" ]; do skip "$1" "$2"; done
    exit 0
}

tap_end() {
    [ -n "$tap_planned" ] || plan "$tap_number"
    if [ "$tap_number" -ne "$tap_planned" ]; then
        echo "# $tap_number tests ran, $tap_planned were planned"
        exit 1
    fi
    exit "$tap_failed"
}
