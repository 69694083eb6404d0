#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The trace in a file: the text form line by line, and the form that trace viewers open, with tracks and a request's arrows.
set -u
echo 1..3
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
XDG_CACHE_HOME=$folder/cache
export XDG_CACHE_HOME
cat >"$folder/add.mil" <<'MIL'
program(1.3)
{
    func main<ios18>(tensor<fp16, [1, 2, 1, 40]> a, tensor<fp16, [1, 2, 1, 40]> b) {
        tensor<fp16, [1, 2, 1, 40]> y = add(x = a, y = b)[name = string("y")];
    } -> (y);
}
MIL
python3 - "$folder" <<'PY'
import struct, sys
header = "{'descr': '<f2', 'fortran_order': False, 'shape': (1, 2, 1, 40), }"
header += " " * (-(10 + len(header) + 1) % 64) + "\n"
with open(sys.argv[1] + "/one.npy", "wb") as file:
    file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack("<80e", *[1.0] * 80))
PY
run() {
    "$ANEMONE" run "$folder/add.mil" --input a="$folder/one.npy" --input b="$folder/one.npy" --output y="$folder/y.npy" --trace "$1" \
        >"$folder/log" 2>&1 || sed 's/^/# /' "$folder/log"
}
run "$folder/t.txt"
if grep -q '^[0-9]* eng start queue=' "$folder/t.txt" && grep -q '^[0-9]* client call client=1 selector=2 ' "$folder/t.txt"; then
    echo "ok 1 - the text form tells of the request and of its descriptor"
else
    echo "not ok 1 - the text form tells of the request and of its descriptor"
fi
run "$folder/t2.txt"
if cmp -s "$folder/t.txt" "$folder/t2.txt"; then
    echo "ok 2 - the same run gives the same trace"
else
    echo "not ok 2 - the same run gives the same trace"
fi
run "$folder/t.json"
if python3 - "$folder/t.json" <<'PY'
import json, sys
events = json.load(open(sys.argv[1]))["traceEvents"]
tracks = {e["tid"]: e["args"]["name"] for e in events if e["ph"] == "M"}
assert {"exeloop", "server", "client 1", "queue 5"} <= set(tracks.values()), tracks
flow = {e["ph"]: e for e in events if e["ph"] in "stf"}
assert len({e["id"] for e in flow.values()}) == 1, flow
assert tracks[flow["s"]["tid"]] == tracks[flow["f"]["tid"]] == "client 1"
assert tracks[flow["t"]["tid"]].startswith("queue ")
assert flow["s"]["ts"] < flow["t"]["ts"] < flow["f"]["ts"], flow
depth = 0
for event in events:
    depth += {"B": 1, "E": -1}.get(event["ph"], 0)
    assert depth >= 0
assert depth == 0
PY
then
    echo "ok 3 - the viewer's form has tracks per task, queue and client, and a request's flow"
else
    echo "not ok 3 - the viewer's form has tracks per task, queue and client, and a request's flow"
fi
