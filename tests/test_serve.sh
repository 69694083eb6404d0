#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# `anemone serve` with its children: what it says, that children which end are started again, that a client sees a broker end and
# uses the next one, and what is left after a stop. Prints TAP.
set -u

root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d) || exit 1
service=
stop() {
    [ -z "$service" ] || kill "$service" 2>/dev/null
}
trap 'stop; rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
export LC_ALL=C
. "$root/tests/tap.sh"

cat >"$work/add.mil" <<'MIL'
program(1.3)
{
    func main<ios18>(tensor<fp16, [1, 2, 1, 40]> a, tensor<fp16, [1, 2, 1, 40]> b) {
        tensor<fp16, [1, 2, 1, 40]> y = add(x = a, y = b)[name = string("y")];
    } -> (y);
}
MIL
# 1.5 and 2.5, whose sum is 4
python3 - "$work" <<'PY'
import struct, sys
header = "{'descr': '<f2', 'fortran_order': False, 'shape': (1, 2, 1, 40), }"
header += " " * (-(10 + len(header) + 1) % 64) + "\n"
for name, value in (("a", 1.5), ("b", 2.5), ("sum", 4.0)):
    with open(f"{sys.argv[1]}/{name}.npy", "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack("<80e", *[value] * 80))
PY

# until_true COMMAND...: waits until it succeeds, 20 s at most
until_true() {
    for _ in $(seq 1 400); do
        "$@" && return 0
        sleep 0.05
    done
    return 1
}
# said TEXT [TIMES]: the service's log has it that often, or more often
said() {
    [ "$(grep -c -e "$1" "$work/log")" -ge "${2:-1}" ]
}
# child NAME: the number of that child's last process
child() {
    sed -n "s/.*the $1 runs: process //p" "$work/log" | tail -n 1
}
run() {
    rm -f "$work/y.npy"
    ANEMONE_SERVICE="$work/service" timeout 60 "$ANEMONE" run "$work/add.mil" --input a="$work/a.npy" --input b="$work/b.npy" \
        --output y="$work/y.npy" >"$work/out" 2>&1 && cmp "$work/y.npy" "$work/sum.npy" >>"$work/out" 2>&1
}

mkdir -m 0700 "$work/policy"
timeout 250 "$ANEMONE" serve --socket "$work/service" --state "$work/state" --policy "$work/policy" 2>"$work/log" &
service=$!
until_true said "compile service runs" 2
report "it starts, with a broker and two compile services" $?

run
report "a program runs through it" $? "$work/out"
said "client .*anemone: broker"
report "the log names the client and what it may do" $?

timeout 60 "$ANEMONE" serve --socket "$work/service" --state "$work/state" --policy "$work/policy" >"$work/out" 2>&1
[ $? -eq 1 ] && grep -q "process $(cat "$work/service.lock")" "$work/out"
report "a second one ends with status 1 and names the first" $? "$work/out"

kill -KILL "$(child broker)"
until_true said "the broker runs" 2
report "a broker that was killed is started again" $?
until_true said "the compile service runs" 2 && until_true run
report "and serves the next program" $? "$work/out"

kill -KILL "$(child "compile service")"
until_true said "the compile service ended.*Killed" && until_true said "the compile service runs" 3
report "so is a compile service" $?
rm -rf "$work/state/cache"/*/*
until_true run
report "which compiles the next model" $? "$work/out"

broker=$(child broker) compiler=$(child "compile service")
kill -TERM "$service"
wait "$service"
report "it stops with status 0" $?
service=
said "stopping: Terminated" && said " stopped"
report "and says why" $?
if kill -0 "$broker" 2>/dev/null || kill -0 "$compiler" 2>/dev/null; then false; else true; fi
report "no child is left" $?
[ ! -e "$work/service" ] && [ ! -e "$work/service.lock" ]
report "nor the socket and its lock" $?
run
[ $? -ne 0 ] && grep -q "$work/service" "$work/out"
report "a program that names the service is refused by name" $? "$work/out"

: >"$work/log" # now, and not when the job begins: what the first one said is not of this one
timeout 250 "$ANEMONE" serve --socket "$work/service" --state "$work/state" --policy "$work/policy" 2>>"$work/log" &
service=$!
until_true said "compile service runs" 2
broker=$(child broker)
# The job is `timeout`, which does not pass this signal on.
kill -KILL "$(cat "$work/service.lock")"
gone() {
    ! kill -0 "$broker" 2>/dev/null
}
until_true gone
report "its children end with a service that is killed" $?
wait "$service" 2>/dev/null
service=

# refuses_state NAME TEXT: a service with that state folder ends with status 1 and a sentence that has TEXT
refuses_state() {
    timeout 20 "$ANEMONE" serve --socket "$work/service" --state "$work/$1" --policy "$work/policy" >"$work/out" 2>&1
    [ $? -eq 1 ] && grep -q -e "$2" "$work/out"
}
touch "$work/file"
refuses_state file "cannot be used.*--state"
report "a state folder that is a file is refused" $? "$work/out"
mkdir -m 0700 "$work/open" && chmod 0777 "$work/open"
refuses_state open "mode 0777.*chmod go-w"
report "so is one that others can write" $? "$work/out"
mkdir -m 0700 "$work/keyless" && mkdir "$work/keyless/service.key"
refuses_state keyless "no key to sign programs with.*service.key"
report "one without a place for the key" $? "$work/out"
mkdir -m 0700 "$work/read" && head -c 32 /dev/urandom >"$work/read/service.key" && chmod 0644 "$work/read/service.key"
refuses_state read "service.key is open to other users"
report "and one with a key that others can read" $? "$work/out"
[ "$(stat -c %a "$work/state" "$work/state/service.key" "$work/state/cache" | tr '\n' ' ')" = "700 600 700 " ]
report "its own state is private" $? "$work/out"

: >"$work/log"
timeout 250 env --ignore-signal=CHLD,HUP "$ANEMONE" serve --socket "$work/service" --state "$work/state" --policy "$work/policy" \
    2>>"$work/log" &
service=$!
until_true said "compile service runs" 2
kill -HUP "$(cat "$work/service.lock")"
kill -KILL "$(child broker)"
until_true said "the broker runs" 2 && ! said "stopping"
report "a starter that ignores signals changes nothing: children are waited for, and nohup works" $? "$work/log"
kill -TERM "$(cat "$work/service.lock")"
until_true said " stopped"
report "and it stops" $? "$work/log"
kill -KILL "$(cat "$work/service.lock" 2>/dev/null)" 2>/dev/null
wait "$service" 2>/dev/null
service=

"$ANEMONE" serve --memory 12X >"$work/out" 2>&1
[ $? -eq 2 ] && grep -q "12X" "$work/out"
report "a size that is none is refused" $? "$work/out"
"$ANEMONE" broker >"$work/out" 2>&1 </dev/null
[ $? -eq 1 ] && grep -q "anemone serve" "$work/out"
report "the broker says who starts it" $? "$work/out"
finish
