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
# The log has a limit of lines for each second, which the clients above may have used up.
sleep 1
slots=$(($("$ENTITLED" --slot)))
for name in granted missing; do
    timeout 60 "$work/bin/$name-$slots" >"$work/log" 2>&1
    report "com.apple.security.ts.ane-client is $name: its session begins" $?
done
grep -q "/granted-$slots: .*, blessed$" "$work/service.log" && ! grep -q "/missing-$slots: .*, blessed$" "$work/service.log" &&
    [ "$(grep -c ", blessed$" "$work/service.log")" -eq 1 ]
report "com.apple.security.ts.ane-client: its holder alone has a slot" $? "$work/service.log"

# blessed: how many sessions have had a slot so far
blessed() {
    grep -c ", blessed$" "$work/service.log"
}
mkfifo "$work/line"
exec 9<>"$work/line"
holders=
for _ in 1 2 3 4 5 6; do
    timeout 100 "$work/bin/granted-$slots" hold <"$work/line" >"$work/log" 2>&1 &
    holders="$holders $!"
done
for _ in $(seq 1 400); do
    [ "$(grep -c "/granted-$slots: " "$work/service.log")" -ge 7 ] && break
    sleep 0.05
done
[ "$(grep -c "/granted-$slots: " "$work/service.log")" -eq 7 ] && [ "$(blessed)" -eq 6 ]
report "of six holders at once five have a slot" $? "$work/service.log"
printf xxxxxx >&9
for holder in $holders; do
    wait "$holder" || echo "holder $holder failed" >>"$work/service.log"
done
for _ in $(seq 1 100); do
    timeout 60 "$work/bin/granted-$slots" >"$work/log" 2>&1
    [ "$(blessed)" -gt 6 ] && break
done
[ "$(blessed)" -eq 7 ]
report "a slot is free again when its holder has gone" $? "$work/service.log"

# What the command shows of it.
"$ANEMONE" info >"$work/log" 2>&1 && grep -q "^registry of the service at $work/service$" "$work/log" && grep -q "+ H11ANEIn$" "$work/log" &&
    grep -q "PID USER .* EXECUTABLE$" "$work/log"
report "anemone info shows the registry and the clients of the service" $?
"$ANEMONE" info --chip t8103 >"$work/log" 2>&1 && grep -q "^registry at rest$" "$work/log"
report "anemone info --chip shows a machine at rest" $?
"$ANEMONE" info --json >"$work/log" 2>&1 && python3 -c 'import json, sys
found = json.load(open(sys.argv[1]))
sys.exit(not (found["service"]["pid"] and found["registry"]["name"] == "Root" and isinstance(found["clients"], list)))' "$work/log"
report "anemone info --json has the same" $?
"$ANEMONE" doctor >"$work/log" 2>&1 && grep -q "^ok    service        one runs at $work/service; its policy gives this user the broker\.$" "$work/log"
report "anemone doctor says what the policy gives" $?
"$ANEMONE" top --once >"$work/log" 2>&1 && grep -q "^service: process .* up 0:" "$work/log"
report "anemone top shows the service" $?
ANEMONE_SERVICE="$work/nothing" "$ANEMONE" info >"$work/log" 2>&1
[ $? -eq 1 ] && grep -q "^anemone: .*$work/nothing" "$work/log"
report "anemone info says when the service that is named is not there" $?

kill "$service"
wait "$service"
report "the service stops" $? "$work/service.log"
service=
finish
