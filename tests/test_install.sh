#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Installs the build that $ANEMONE is of into a folder of its own, builds a program outside the tree with pkg-config, and runs it.
# Prints TAP.
set -u

root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
export LC_ALL=C

skip() {
    echo "1..0 # SKIP $1"
    exit 0
}

[ -n "${ANEMONE:-}" ] || skip "ANEMONE does not name the command"
command -v pkg-config >/dev/null || skip "there is no pkg-config"
if [ -x /usr/bin/meson ]; then meson=/usr/bin/meson; else meson=meson; fi
command -v "$meson" >/dev/null || skip "there is no meson"
cc=${CC:-cc}
command -v "${cc%% *}" >/dev/null || skip "there is no compiler $cc"
build=$(dirname "$ANEMONE")
if grep -q -e __asan_init -e __tsan_init -e __ubsan_handle "$build"/libanemone.so; then
    skip "the library has a sanitizer in it"
fi

. "$root/tests/tap.sh"

"$meson" install -C "$build" --no-rebuild --destdir "$work/root" >"$work/log" 2>&1
report "installs" $? "$work/log"
[ "$failed" -eq 0 ] || finish

library=$(find "$work/root" -name 'libanemone.so.*.*' | head -n 1)
folder=$(dirname "$(find "$work/root" -name anemone.pc | head -n 1)")
export PKG_CONFIG_PATH="$folder" PKG_CONFIG_SYSROOT_DIR="$work/root"
flags=$(pkg-config --cflags --libs anemone 2>"$work/log")
report "pkg-config knows it" $? "$work/log"

units=$(find "$work/root" -name 'anemone.service' | wc -l)
command=$(find "$work/root" -path '*/bin/anemone')
find "$work/root" -name 'anemone.service' -exec grep -h '^ExecStart=' {} + >"$work/log"
[ "$units" -eq 2 ] && [ "$(sort -u "$work/log")" = "ExecStart=${command#"$work/root"} serve" ] &&
    [ "$(find "$work/root" -name 'anemone.socket' | wc -l)" -eq 2 ]
report "units of a service manager start the command that was installed" $? "$work/log"

preload=$("$command" accel --where 2>"$work/log") && [ "$(basename "$preload")" = libanemone-accel.so ] &&
    LD_PRELOAD="$preload" sh -c 'test -c /dev/accel/accel0' 2>>"$work/log"
report "the installed command knows where the library for LD_PRELOAD is" $? "$work/log"

cp "$root/examples/accumulator.c" "$root/examples/overlapped.c" "$root/examples/accumulator.mil" "$work"
cd "$work" || exit 1
# shellcheck disable=SC2086
$cc -std=c11 -pedantic -Wall -Wextra -Werror accumulator.c $flags -o accumulator >"$work/log" 2>&1
report "a program outside the tree builds" $? "$work/log"

export LD_LIBRARY_PATH="$(dirname "$library")" XDG_CACHE_HOME="$work/cache"
for run in "compiled" "from the cache"; do
    ./accumulator accumulator.mil >"$work/out" 2>"$work/log"
    status=$?
    [ "$(cat "$work/out")" = "1 2 3 4" ] || status=1
    cat "$work/out" >>"$work/log"
    report "the resident accumulator counts: $run" $status "$work/log"
done

ANEMONE_CHAINING=1 ./accumulator accumulator.mil >"$work/out" 2>"$work/log"
status=$?
[ "$(cat "$work/out")" = "1 2 3 4" ] || status=1
report "the same by triggers of a chain" $status "$work/log"

cp "$root/examples/keyvalue.c" "$root/examples/keyvalue.mil" "$work"
{
    "$ANEMONE" compile keyvalue.mil --output keyvalue.bundle
    # shellcheck disable=SC2086
    $cc -std=c11 -pedantic -Wall -Wextra -Werror keyvalue.c $flags -o keyvalue
    ./keyvalue keyvalue.bundle
} >"$work/log" 2>&1
status=$?
grep -qx "64 slots are right" "$work/log" || status=1
report "a key-value cache is filled by triggers alone" $status "$work/log"

cp "$root/examples/preempted.c" "$root/examples/preempted.mil" "$work"
{
    "$ANEMONE" compile preempted.mil --output preempted.bundle
    # shellcheck disable=SC2086
    $cc -std=c11 -pedantic -Wall -Wextra -Werror preempted.c $flags -o preempted
    ./preempted preempted.bundle preempted.bin && "$ANEMONE" trace preempted.bin --viewer >preempted.json
} >"$work/log" 2>&1
status=$?
grep -qx "4 executions and 2 requests are right" "$work/log" || status=1
report "a chain is interrupted by requests" $status "$work/log"

# What a viewer needs: on each track spans follow each other or are nested. Both jobs of queue 1 interrupt queue 6 at a descriptor's
# end, and every call has arrows to the four descriptors of its program and back. The firmware's signposts are at the
# host's time.
python3 - preempted.json >"$work/log" 2>&1 <<'EOF'
import json, sys
events = json.load(open(sys.argv[1]))["traceEvents"]
tracks = {e["tid"]: e["args"]["name"] for e in events if e.get("name") == "thread_name"}
spans, begun = {}, {}
for e in events:
    ns = round(e.get("ts", 0) * 1000)
    if e["ph"] == "X":
        spans.setdefault(e["tid"], []).append((ns, ns + round(e["dur"] * 1000), e["name"]))
    elif e["ph"] == "B":
        begun.setdefault(e["tid"], []).append(e)
    elif e["ph"] == "E":
        begin = begun[e["tid"]].pop()
        spans.setdefault(e["tid"], []).append((round(begin["ts"] * 1000), ns, begin["name"]))
assert not any(begun.values()), begun
for tid, found in spans.items():
    outer = []
    for start, end, name in sorted(found, key=lambda s: (s[0], -s[1])):
        while outer and outer[-1] <= start:
            outer.pop()
        assert not outer or end <= outer[-1], (tracks[tid], start, end, name)
        outer.append(end)
on = {name: sorted(spans.get(tid, [])) for tid, name in tracks.items()}
low, high = on["queue 6"], on["queue 1"]
waits = [s for s in low if s[2] == "interrupted by queue 1"]
assert len(waits) == 2 and len(low) == 4 * 4 + 2 and len(high) == 2 * 4, (low, high)
for i, (start, end, name) in enumerate(waits):
    assert start == high[4 * i][0] and end == high[4 * i + 3][1], (waits[i], high)
    assert any(s[1] == start for s in low) and any(s[0] == end for s in low), low
assert [s[2] for s in on["chains"]] == [f"execution {n} writes set {(n + 1) % 2}" for n in (1, 2, 3, 4)], on["chains"]
pushed = [[e["ts"] for e in events if e.get("name") == name and e["ph"] == "i"] for name in ("push", "pushed")]
assert len(pushed[0]) == len(pushed[1]) == 6, pushed
assert all(abs(a - b) < 0.042 for a, b in zip(*pushed)), pushed  # a tick of the counter that the clocks are compared with
arrows = {}
for e in events:
    if e["ph"] in "stf":
        arrows.setdefault(e["id"], []).append((e["ts"], e["ph"], tracks[e["tid"]]))
assert len(arrows) == 6, arrows
for steps in arrows.values():
    assert "".join(s[1] for s in steps) == "s" + "t" * 4 + "f" and steps == sorted(steps, key=lambda s: s[0]), steps
    assert steps[0][2] == steps[-1][2] and len({s[2] for s in steps[1:-1]}) == 1, steps
EOF
report "its trace is one that a viewer shows as it was" $? "$work/log"

# shellcheck disable=SC2086
$cc -std=c11 -pedantic -Wall -Wextra -Werror overlapped.c $flags -o overlapped >"$work/log" 2>&1 &&
    [ "$(./overlapped accumulator.mil 2>"$work/log")" = 10 ]
report "submitted streams take turns" $? "$work/log"

# Listings 2.3 and 2.4 of the guide, their calls as printed.
cat >listing.c <<'EOF'
#include <anemone/e5rt.h>
#include <stdio.h>

int main(void)
{
    const char *model_path = "accumulator.mil", *fn_name = "main";
    const int n = 2, n_frames = 2;
    const size_t nbytes = 4 * 40 * sizeof(float);
    e5rt_e5_compiler_t compiler;
    e5rt_e5_compiler_options_t options;
    e5rt_program_library_t library;
    e5rt_program_function_t function;
    e5rt_precompiled_compute_op_create_options_t op_opts;
    e5rt_execution_stream_operation_t op;
    e5rt_io_port_t in_port, out_port;
    e5rt_buffer_object_t in_buf, state_buf;
    e5rt_execution_stream_t stream;
    void *x, *state;

    e5rt_e5_compiler_create(&compiler);
    e5rt_e5_compiler_options_create(&options);
    e5rt_buffer_object_alloc(&in_buf, nbytes, 0);
    e5rt_buffer_object_get_data_ptr(in_buf, &x);
    for (size_t i = 0; i < nbytes / sizeof(float); i++)
        ((float *)x)[i] = 1;

    /* Once, out of the hot loop: compile and load. A cache hit skips the lowering. */
    e5rt_e5_compiler_compile(compiler, model_path, options, &library);
    e5rt_program_library_retain_program_function(library, fn_name, &function);
    e5rt_program_function_load_for_execution(function);
    e5rt_precompiled_compute_op_create_options_create_with_program_function(&op_opts, function);
    e5rt_execution_stream_operation_create_precompiled_compute_operation_with_options(&op, op_opts);
    e5rt_execution_stream_operation_retain_input_port(op, "x", &in_port);
    e5rt_io_port_bind_buffer_object(in_port, in_buf);   /* bound once, refilled per frame */
    e5rt_execution_stream_create(&stream);

    /* One buffer object holds the resident state (a KV-cache or optimizer state). */
    e5rt_buffer_object_alloc(&state_buf, nbytes, /*type=*/0);

    /* Bind it to BOTH the output port that writes the new state ... */
    e5rt_execution_stream_operation_retain_output_port(op, "state_out", &out_port);
    e5rt_io_port_bind_buffer_object(out_port, state_buf);

    /* ... and the input port that reads it on the next step: same buffer object. */
    e5rt_execution_stream_operation_retain_input_port(op, "state_in", &in_port);
    e5rt_io_port_bind_buffer_object(in_port, state_buf);

    e5rt_buffer_object_get_data_ptr(state_buf, &state);
    for (int frame = 0; frame < n_frames; frame++) {
        /* Inside the loop: write the next frame, then encode, execute, reset. */
        e5rt_execution_stream_operation_prepare_op_for_encode(op);
        e5rt_execution_stream_encode_operation(stream, op);
        e5rt_execution_stream_execute_sync(stream);
        e5rt_execution_stream_reset(stream);
        printf("%g ", (double)*(float *)state);
    }

    for (int step = 0; step < n; step++) {
        e5rt_execution_stream_encode_operation(stream, op);
        e5rt_execution_stream_execute_sync(stream);
        /* state_buf now holds the updated state; it is never re-sent from the host. */
        e5rt_execution_stream_reset(stream);
        printf("%g ", (double)*(float *)state);
    }
    return 0;
}
EOF
# shellcheck disable=SC2086
$cc -std=c11 listing.c $flags -o listing >"$work/log" 2>&1 && ./listing >"$work/out" 2>>"$work/log" && [ "$(cat "$work/out")" = "1 2 3 4 " ]
status=$?
cat "$work/out" >>"$work/log"
report "listings 2.3 and 2.4 as printed" $status "$work/log"

# A C++ program can call it, where there is a C++ compiler.
if command -v c++ >/dev/null; then
    # shellcheck disable=SC2086
    echo '#include <anemone/e5rt.h>
int main() { return e5rt_execution_stream_reset(nullptr) != E5RT_INVALID_ARGUMENT; }' >plus.cc
    c++ -Wall -Wextra -Werror plus.cc $flags -o plus >"$work/log" 2>&1 && ./plus
    report "a C++ program builds and runs" $? "$work/log"
fi
finish
