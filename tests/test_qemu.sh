#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Runs the kernel's list of cases on bare AArch64, on qemu's board virt, and compares its lines with those of the host's
# port; then the checks of the processor's port. Prints TAP. KERNEL_LIST is the host's program, test_kernel_list of a
# build folder. Time is virtual: an instruction takes a nanosecond, and a wait takes no real time.
set -u

root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
export LC_ALL=C

qemu="qemu-system-aarch64"
cpu=cortex-a76 # it has 16 KiB pages, which the map of src/bare needs
base=0x40200000

skip() {
    echo "1..0 # SKIP $1"
    exit 0
}

number=0
failed=0
# report TITLE [PROBLEMS]: one line of TAP; a problem is a line of its own
report() {
    number=$((number + 1))
    if [ -z "${2:-}" ]; then
        echo "ok $number - $1"
    else
        echo "not ok $number - $1"
        echo "$2" | sed 's/^/# /'
        failed=1
    fi
}

# emulate MACHINE OUTPUT: runs the image; what is wrong with its end. A virtual clock without events can keep qemu from
# noticing the first signal. Without a network card, whose ROM is in a package that qemu only recommends.
emulate() {
    timeout -k 5 30 "$qemu" -M "$1" -cpu "$cpu" -nic none -display none -monitor none -serial stdio -semihosting \
        -icount shift=0,sleep=off -kernel "$work/image" </dev/null >"$2" 2>"$work/errors"
    status=$?
    [ $status -eq 0 ] || { echo "$qemu -M $1 ended with status $status"; tail -n 5 "$work/errors"; tail -n 5 "$2"; }
}

# lines FILE: those of the list and of the faults
lines() {
    grep -E '^# ((not )?ok|fault) [0-9]+ - ' "$1"
}

command -v "$qemu" >/dev/null 2>&1 || skip "no $qemu here (scripts/setup test)"
"$qemu" -cpu help 2>/dev/null | grep -qw "$cpu" || skip "this $qemu has no $cpu, a processor with 16 KiB pages"
"$root/scripts/bare-build" --tools >/dev/null 2>&1 || skip "no compiler or linker for bare AArch64 here (scripts/setup test)"
[ -x "${KERNEL_LIST:-}" ] || skip "KERNEL_LIST does not name the program test_kernel_list of a build folder"

problem=$("$root/scripts/bare-build" "$work/image" $base "$root/src/bare/virt.c" "$root"/tests/bare_kernel*.c \
    "$root"/tests/bare_kernel*.S "$root"/tests/kernel_*.c 2>&1)
report "the list and the port build for bare AArch64" "$problem"
if [ -n "$problem" ]; then
    echo "1..$number"
    exit 1
fi
report "the entry is the first instruction" \
    "$(readelf -hW "$work/image" | grep 'Entry point' | grep -v "$base\$")"
report "the image has no relocations" "$(readelf -rW "$work/image" | grep 'Relocation section')"

problem=$(emulate virt "$work/bare")
report "qemu runs it to its end" "$problem"
CMOCKA_MESSAGE_OUTPUT=TAP "$KERNEL_LIST" >"$work/host" 2>&1
lines "$work/host" >"$work/host.lines"
lines "$work/bare" >"$work/bare.lines"
report "the list ran on the host" "$([ -s "$work/host.lines" ] || { echo 'It printed no line:'; tail -n 5 "$work/host"; })"
report "every line of the list is the host's" "$(diff "$work/host.lines" "$work/bare.lines")"
sed '5s/$/!/' "$work/host.lines" >"$work/planted"
report "one line that differs is found" \
    "$([ "$(diff "$work/planted" "$work/bare.lines" | grep -c '^[<>]')" = 2 ] || echo "the planted line was not found")"
# A run that did not end is not repeated: its limit of time has passed once.
if [ -z "$problem" ]; then
    report "entered at EL2, it does the same" \
        "$(emulate virt,virtualization=on "$work/el2"; lines "$work/el2" | diff "$work/bare.lines" -)"
    report "a second run prints the same bytes" "$(emulate virt "$work/again"; cmp "$work/bare" "$work/again" 2>&1)"
fi

grep '^# processor ' "$work/bare" >"$work/processor"
report "the processor's port was checked" "$([ -s "$work/processor" ] || { echo 'It printed no line:'; tail -n 5 "$work/bare"; })"
while read -r _ _ result title; do
    if [ "$result" = ok ]; then
        report "${title#- }"
    else
        report "${title#ok - }" "the check failed on the emulated board"
    fi
done <"$work/processor"
echo "1..$number"
exit $failed
