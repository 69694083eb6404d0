#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Every key of Listing 27.6, of Tables 27.7 and 27.8 and the two chosen ones, by a policy of the service: granted and missing. One program for each
# (tests/entitled.c), which the policy knows by its path. ENTITLED is that program, ANEMONE the command. Prints TAP.

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

mkdir "$work/bin" "$work/policy"
chmod 0700 "$work/policy"
cp "$ENTITLED" "$work/bin/entitled"
"$ENTITLED" --keys >"$work/keys"
"$ENTITLED" --policy "$work/bin" >"$work/policy/test.policy"
chmod 0600 "$work/policy/test.policy"
for place in $(seq 0 31); do
    ln "$work/bin/entitled" "$work/bin/granted-$place"
    ln "$work/bin/entitled" "$work/bin/missing-$place"
done

timeout 280 "$ANEMONE" serve --socket "$work/service" --state "$work/state" --policy "$work/policy" >"$work/service.log" 2>&1 &
service=$!
for _ in $(seq 1 400); do
    [ -S "$work/service" ] && break
    sleep 0.05
done
[ -S "$work/service" ]
report "the service starts" $? "$work/service.log"
export ANEMONE_SERVICE="$work/service"

while read -r place key; do
    for name in granted missing; do
        timeout 60 "$work/bin/$name-$place" >"$work/log" 2>&1
        report "$key is $name" $?
    done
done <"$work/keys"
[ "$(wc -l <"$work/keys")" -eq 18 ]
report "every key but that of the slots has a deed" $? "$work/keys"

# The slots: a holder is in one of five places, which the service notes when the session begins.
slots=$(($("$ENTITLED" --slot)))
for name in granted missing; do
    timeout 60 "$work/bin/$name-$slots" >"$work/log" 2>&1
    report "com.apple.security.ts.ane-client is $name: its session begins" $?
done
grep -q "/granted-$slots: .*, blessed$" "$work/service.log" && ! grep -q "/missing-$slots: .*, blessed$" "$work/service.log" &&
    [ "$(grep -c ", blessed$" "$work/service.log")" -eq 1 ]
report "com.apple.security.ts.ane-client: its holder alone has a slot" $? "$work/service.log"

kill "$service"
wait "$service"
report "the service stops" $? "$work/service.log"
service=
finish
