# SPDX-License-Identifier: Apache-2.0
#
# TAP for the tests in sh, which source it.

number=0
failed=0
# report TITLE STATUS [FILE]: one line of TAP; on failure with what FILE has ($work/log)
report() {
    number=$((number + 1))
    if [ "$2" -eq 0 ]; then
        echo "ok $number - $1"
    else
        echo "not ok $number - $1"
        sed 's/^/# /' "${3:-$work/log}"
        failed=1
    fi
}

# finish: the plan, and the exit status
finish() {
    echo "1..$number"
    exit "$failed"
}
