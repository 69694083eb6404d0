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
