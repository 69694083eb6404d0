#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Compiles rtkernel, protocol, firmware and bare for bare AArch64, and looks at what the objects ask for and what they hold.
# Prints TAP. Needs clang, or gcc's cross compiler; run from anywhere.
set -u

root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
export LC_ALL=C

rooms=
for room in rtkernel protocol firmware; do
    [ -d "$root/src/$room" ] && rooms="$rooms $room"
done

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

# works COMPILER...: whether it can make an AArch64 object that the tools at hand can read
works() {
    echo 'int probe(void); int probe(void) { return 0; }' >"$work/probe.c"
    rm -f "$work/probe.o"
    "$@" -ffreestanding -mgeneral-regs-only -c "$work/probe.c" -o "$work/probe.o" 2>/dev/null &&
        readelf -h "$work/probe.o" 2>/dev/null | grep -q AArch64 && nm "$work/probe.o" 2>/dev/null | grep -q 'T probe$'
}

if works clang --target=aarch64-none-elf; then
    compiler="clang --target=aarch64-none-elf"
elif works aarch64-linux-gnu-gcc; then
    compiler="aarch64-linux-gnu-gcc -nostdinc -isystem $(aarch64-linux-gnu-gcc -print-file-name=include)"
else
    echo "1..0 # SKIP no compiler for bare AArch64 here (clang or aarch64-linux-gnu-gcc, and binutils)"
    exit 0
fi
flags="-std=gnu11 -O2 -ffreestanding -mgeneral-regs-only -fno-pic -fno-stack-protector -Wall -Wextra -Wvla -Werror
       -Wmissing-prototypes -Wundef"
# shellcheck disable=SC2086  # words
works $compiler -mno-outline-atomics -Werror && flags="$flags -mno-outline-atomics"

# compile FOLDER SOURCE...: objects into $work/FOLDER
compile() {
    mkdir -p "$work/$1"
    (
        cd "$work/$1" || exit 1
        shift
        # shellcheck disable=SC2086  # words
        $compiler $flags -I"$root/src" -isystem "$root/src/bare/libc" -c "$@" 2>&1
    )
}

# sections OBJECT...: "object name flags" of every section that has bytes
sections() {
    for object in "$@"; do
        readelf -SW "$object" | sed -n 's/^ *\[ *[0-9]*\] //p' |
            awk -v object="${object#"$work"/}" '$5 !~ /^0+$/ && $7 ~ /[A-Z]/ { print object, $1, $7 }'
    done
}

# unknown OBJECT...: symbols that no object defines and port.h does not declare
unknown() {
    nm "$@" 2>/dev/null | awk '
        NF == 3 && $3 !~ /^\$/ { defined[$3] = 1 }
        NF == 2 && $1 == "U" { wanted[$2] = 1 }
        END { for (name in wanted) if (!(name in defined)) print name }' | sort | grep -vxF -f "$work/port"
}

grep -o 'rt_port_[a-z0-9_]*(' "$root/src/rtkernel/port.h" | tr -d '(' | sort -u >"$work/port"

echo "1..$((8 + $(echo "$rooms" | wc -w)))"

# The checks must find what is planted.
cat >"$work/planted.c" <<'EOF'
int puts(const char *string);
int counter = 1;
static int cleared;
static _Thread_local int mine;
int planted(void);
int planted(void) { return puts("x") + ++counter + ++cleared + ++mine; }
EOF
compile planted "$work/planted.c" >/dev/null
found="$(unknown "$work"/planted/*.o) $(sections "$work"/planted/*.o | awk '$3 ~ /W/ { print $2 }' | sort | tr '\n' ' ')"
[ "$found" = "puts .bss .data .tbss " ] && found=
report "the checks find an unknown symbol, writable data and thread-local data" "$found"

for room in $rooms; do
    report "$room compiles for bare AArch64" "$(compile "$room" "$root/src/$room"/*.c)"
done

objects=
writable=
for room in $rooms; do
    objects="$objects $(echo "$work/$room"/*.o)"
    # constants with pointers in them may be writable until they are relocated; protocol alone has such tables
    allowed='^$'
    [ "$room" = protocol ] && allowed=' \.data\.rel\.ro'
    writable="$writable$(sections "$work/$room"/*.o | awk '$3 ~ /W/' | grep -v "$allowed")"
done
# shellcheck disable=SC2086  # one word per object
{
    report "every undefined symbol is declared in port.h" "$(unknown $objects)"
    report "nothing is writable" "$writable"
    report "nothing is thread-local" "$(sections $objects | awk '$3 ~ /T/')"
}

# The port has writable data, but the image carries none of it: it is cleared at reset.
report "bare compiles for bare AArch64" "$(compile bare "$root"/src/bare/*.[cS])"
report "what bare writes is cleared at reset" "$(sections "$work"/bare/*.o | awk '$3 ~ /W/ && $2 !~ /^\.bss/')"

# What a call on a task's stack may cost: no frame of the kernel's own is large.
report "no frame of rtkernel exceeds 512 bytes" \
    "$(flags="$flags -Wframe-larger-than=512" && compile frames "$root/src/rtkernel"/*.c)"

linker=
for candidate in ld.lld aarch64-linux-gnu-ld; do
    [ -z "$linker" ] && command -v "$candidate" >/dev/null 2>&1 && linker=$candidate
done
if [ -z "$linker" ]; then
    number=$((number + 1))
    echo "ok $number - they link into one object # SKIP no linker for AArch64 here"
else
    # shellcheck disable=SC2086  # one word per object
    report "they link into one object" "$("$linker" -r -o "$work/all.o" $objects 2>&1 && unknown "$work/all.o")"
fi
exit $failed
