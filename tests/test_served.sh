#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The runtime's suites in a served process: with the default policy, through the broker, and on a direct-path
# connection. TESTS is the folder of the test programs; ANEMONE is the command, which serves.

. "$(dirname "$0")/tap.sh"

work=$(mktemp -d)
service=

stop() {
    [ -z "$service" ] && return
    kill "$service" 2>/dev/null
    wait "$service" 2>/dev/null
    service=
}
trap 'stop; rm -rf "$work"' EXIT
trap 'exit 1' INT TERM

# serve NAME: starts a service whose policy is NAME.policy, if there is one, and waits until its socket is there
serve() {
    mkdir -p "$work/$1/policy"
    chmod 0700 "$work/$1" "$work/$1/policy"
    if [ -f "$work/$1.policy" ]; then
        cp "$work/$1.policy" "$work/$1/policy/test.policy"
        chmod 0600 "$work/$1/policy/test.policy"
    fi
    timeout 280 "$ANEMONE" serve --socket "$work/$1/service" --state "$work/$1/state" --policy "$work/$1/policy" \
        >"$work/$1/log" 2>&1 &
    service=$!
    for _ in $(seq 1 200); do
        [ -S "$work/$1/service" ] && grep -q "the broker runs" "$work/$1/log" && return 0
        kill -0 "$service" 2>/dev/null || return 1
        sleep 0.05
    done
    return 1
}

# served WORDS...: a program that uses the service, with a limit against hanging
served() {
    ANEMONE_SERVICE="$work/$way/service" CMOCKA_MESSAGE_OUTPUT=TAP timeout 120 "$@" >"$work/log" 2>&1
}

# tensor VALUE: an .npy file of 1x4x1x40 equal numbers
tensor() {
    python3 -c '
import struct, sys
head = b"{\"descr\": \"<f4\", \"fortran_order\": False, \"shape\": (1, 4, 1, 40), }".ljust(117) + b"\n"
body = struct.pack("<160f", *[float(sys.argv[1])] * 160)
sys.stdout.buffer.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + body)' "$1"
}

cat >"$work/broker.policy" <<END
match uid $(id -u)
    allow com.apple.aned.private.allow
    allow com.apple.aned.private.adapterWeight.allow
    allow anemone.raw-images
END
cat "$work/broker.policy" - >"$work/direct.policy" <<END
    allow com.apple.security.temporary-exception.iokit-user-client-class
END

for way in plain broker direct; do
    serve "$way"
    report "$way: the service starts" $? "$work/$way/log"
    if [ "$way" != plain ]; then
        for suite in runtime runtime_async runtime_events runtime_model runtime_ports runtime_refusals; do
            served "$TESTS/test_$suite"
            report "$way: $suite" $?
        done
        served "$TESTS/example_adapters" examples/adapters.mil
        [ "$(cat "$work/log")" = "1 2 3 4" ]
        report "$way: the example of adapters" $?
    fi
    if [ "$way" = plain ]; then
        tensor 1 >"$work/x.npy"
        tensor 2 >"$work/s.npy"
        tensor 3 | tail -c 640 >"$work/sum"
        served "$ANEMONE" run examples/accumulator.mil --input x="$work/x.npy" --input state_in="$work/s.npy" \
            --output state_out="$work/y.npy" --repeat 3 --json &&
            tail -c 640 "$work/y.npy" | cmp - "$work/sum" >>"$work/log" 2>&1 &&
            grep -q "\"service\": \"$work/$way/service\"" "$work/log"
        report "anemone run uses the service" $?
        served "$ANEMONE" run examples/accumulator.mil --threads 2
        [ $? -eq 1 ] && grep -q -e "--threads is for a machine of this process" "$work/log"
        report "anemone run refuses options about a machine" $?
    fi
    WAY=$way SERVICE=$service BROKER=$(sed -n 's/.*the broker runs: process //p' "$work/$way/log" | tail -n 1)
    export WAY SERVICE BROKER
    served "$TESTS/test_served_runtime"
    report "$way: served_runtime" $?
    kill "$service" 2>/dev/null
    wait "$service"
    report "$way: the service stops cleanly" $? "$work/$way/log"
    service=
done

# A trial of the bench: it starts a service and clients of its own, and leaves nothing behind.
timeout 120 "$ANEMONE" bench dispatch --count 20 --json >"$work/bench.json" 2>"$work/log" &&
    python3 - "$work/bench.json" >>"$work/log" 2>&1 <<'END'
import json, sys
service = json.load(open(sys.argv[1]))["service"]
for way in ("embedded", "direct_path", "broker"):
    assert 0 < service[way]["latency_us"]["p10"] <= service[way]["latency_us"]["p50"], way
    assert service[way]["after_idle_us"] > 0, way
assert [row["clients"] for row in service["clients"]] == [1, 2, 4, 8, 16]
assert all(row["per_second"] > 0 for row in service["clients"])
END
report "the bench measures other processes" $?
finish
