#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# A checkout that was copied or moved with its build folder: make configures that folder anew and leaves the original's alone.
# Uses the real Makefile, with a small project instead of this one. Prints TAP.
set -u

root=$(cd "$(dirname "$0")/.." && pwd)
work=$(cd "$(mktemp -d)" && pwd -P) || exit 1
trap 'rm -rf "$work"' EXIT
export LC_ALL=C
# What a surrounding make or test run has set is not for the small project.
unset MAKEFLAGS MAKELEVEL MFLAGS CC CFLAGS LDFLAGS PREFIX LIBDIR SAN MESON V

. "$root/tests/tap.sh"

# configure FOLDER: the checkout there, as `make` does before it builds
configure() {
    make -C "$1" --no-print-directory configure >"$work/log" 2>&1
}

# knows FOLDER [CHECKOUT]: Meson has configured the build folder of a checkout for exactly this checkout
knows() {
    python3 - "$1" "${2:-$1}" <<'PYTHON' 2>>"$work/log"
import json, sys
known = json.load(open(sys.argv[1] + "/build/meson-info/meson-info.json"))["directories"]
sys.exit(known["source"] != sys.argv[2] or known["build"] != sys.argv[2] + "/build")
PYTHON
}

contents() {
    (cd "$1" && find . -type f -exec cksum {} + && find . -printf '%p %y %T@\n') | sort
}

# checkout FOLDER
checkout() {
    mkdir -p "$1/scripts" || exit 1
    cp "$root/Makefile" "$1" || exit 1
    cp "$root"/scripts/* "$1/scripts" || exit 1
    printf '#!/bin/sh\n' >"$1/scripts/setup"
    printf "project('small', 'c')\n" >"$1/meson.build"
}

original="$work/the original"
checkout "$original"
configure "$original" && knows "$original"
report "a checkout is configured" $?
touch "$original/build/marker"
configure "$original" && [ -e "$original/build/marker" ] && ! [ -s "$work/log" ]
report "its folder stays as it is, without a word" $?

contents "$original" >"$work/before"
cp -a "$original" "$work/copy"
configure "$work/copy" && knows "$work/copy"
report "a copy is configured for itself" $?
! [ -e "$work/copy/build/marker" ] && [ "$(grep -c "the original/build" "$work/log")" -eq 1 ]
report "in a new folder, with one line that names the original's" $?
contents "$original" >"$work/after"
cmp "$work/before" "$work/after" >>"$work/log"
report "nothing of the original has changed" $?

touch "$work/copy/build/marker"
mv "$work/copy" "$work/möved"
configure "$work/möved" && knows "$work/möved" && ! [ -e "$work/möved/build/marker" ]
report "a moved checkout is configured for its new place" $?
touch "$work/möved/build/marker"
configure "$work/möved" && [ -e "$work/möved/build/marker" ] && ! [ -s "$work/log" ]
report "once" $?

ln -s "$original" "$work/link"
configure "$work/link" && [ -e "$original/build/marker" ]
report "a link to the checkout is the checkout" $?

# The build folder is on another disk, and the copy has the same link.
checkout "$work/linked"
mkdir "$work/disk"
ln -s "$work/disk" "$work/linked/build"
configure "$work/linked"
touch "$work/disk/marker"
configure "$work/linked" && [ -e "$work/disk/marker" ]
report "a build folder behind a link stays as it is" $?
cp -a "$work/linked" "$work/linked-copy"
configure "$work/linked-copy" && knows "$work/linked-copy" && [ -e "$work/disk/marker" ] && ! [ -L "$work/linked-copy/build" ]
report "a copy does not use the original's folder through the link" $?

# What Meson has not configured is not removed.
checkout "$work/other"
mkdir "$work/other/build"
touch "$work/other/build/mine"
configure "$work/other"
[ -e "$work/other/build/mine" ]
report "a folder that Meson does not know stays" $?

finish
