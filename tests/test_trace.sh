#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The trace in a file: the text form line by line, the form that trace viewers open, with tracks and a request's arrows, and the
# binary form, which `anemone trace` prints and a second reader decodes from the tables of docs/trace.md.
set -u
echo 1..10
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
tracks = {e["tid"]: e["args"]["name"] for e in events if e.get("name") == "thread_name"}
assert {"exeloop", "server", "client 1", "queue 5"} <= set(tracks.values()), tracks
flow = {e["ph"]: e for e in events if e["ph"] in "stf"}
assert len({e["id"] for e in flow.values()}) == 1, flow
assert tracks[flow["s"]["tid"]] == tracks[flow["f"]["tid"]] == "client 1"
assert tracks[flow["t"]["tid"]].startswith("queue ")
assert flow["s"]["ts"] < flow["t"]["ts"] < flow["f"]["ts"], flow
open_spans = {}
for event in events:
    if event["ph"] == "B":
        assert not open_spans.get(event["tid"]), event
        open_spans[event["tid"]] = event
    elif event["ph"] == "E":
        begin = open_spans.pop(event["tid"])
        assert event.get("name", begin["name"]) == begin["name"] and event["ts"] >= begin["ts"], event
assert not open_spans
(request,) = [e for e in events if e["ph"] == "B" and e["name"] == "ProgramSendRequest"]
assert request["tid"] == flow["s"]["tid"] and request["args"]["in"] == 2376, request
(job,) = [e for e in events if e["ph"] == "X"]
assert tracks[job["tid"]].startswith("queue 5 jobs") and job["ts"] <= flow["t"]["ts"] <= job["ts"] + job["dur"], job
PY
then
    echo "ok 3 - the viewer's form has tracks per task, queue and client, and a request's flow"
else
    echo "not ok 3 - the viewer's form has tracks per task, queue and client, and a request's flow"
fi

run "$folder/t.bin"
"$ANEMONE" trace "$folder/t.bin" >"$folder/printed.txt" 2>"$folder/log"
if cmp -s "$folder/t.txt" "$folder/printed.txt"; then
    echo "ok 4 - the binary form prints the lines of the text form"
else
    echo "not ok 4 - the binary form prints the lines of the text form"
fi
cat >"$folder/reader.py" <<'PY'
import struct, sys
events = {}
for row in open("docs/trace.md"):
    cell = [c.strip() for c in row.split("|")][1:-1]
    if len(cell) == 6 and cell[0].isdigit():
        events[int(cell[0])] = cell[2], cell[3], [f.split() for f in cell[5].split(", ") if f]
data = open(sys.argv[1], "rb").read()
assert data[:8] == b"ANETRACE" and struct.unpack_from("<I", data, 8) == (2,)
at = 12
while at < len(data):
    ns, event, size = struct.unpack_from("<QHH", data, at)
    at += 12
    end = at + size
    layer, name, fields = events[event]
    rest, shown = [], {}
    for field, kind in fields:
        if kind in ("DEC", "HEX"):
            (value,) = struct.unpack_from("<Q", data, at)
            at += 8
            value = f"{value}" if kind == "DEC" else f"{value:#x}"
        else:
            (length,) = struct.unpack_from("<H", data, at)
            value = data[at + 2 : at + 2 + length].decode("latin-1")
            at += 2 + length
            value = f'"{value}"' if kind == "QUOTED" else value
        shown[field] = value
        if "{" + field + "}" not in name:
            rest.append(value if kind == "BARE" else f"{field}={value}")
    assert at == end
    print(" ".join([str(ns), layer] + ([name.format(**shown)] if name else []) + rest))
PY
if python3 "$folder/reader.py" "$folder/t.bin" >"$folder/second.txt" && cmp -s "$folder/t.txt" "$folder/second.txt"; then
    echo "ok 5 - a reader made from docs/trace.md prints the same lines"
else
    echo "not ok 5 - a reader made from docs/trace.md prints the same lines"
fi
"$ANEMONE" trace "$folder/t.bin" --json >"$folder/records.json" 2>"$folder/log"
# A read of an address where no block is: a guest error, appended by hand.
python3 - "$folder" <<'PY'
import struct, sys
data = open(sys.argv[1] + "/t.bin", "rb").read()
open(sys.argv[1] + "/error.bin", "wb").write(data + struct.pack("<QHHQ", 9, 1, 8, 24930))
open(sys.argv[1] + "/short.bin", "wb").write(data[:-1])
open(sys.argv[1] + "/newer.bin", "wb").write(data[:8] + struct.pack("<I", 3) + data[12:])
PY
if [ "$("$ANEMONE" trace "$folder/error.bin" --guest-errors)" = "9 bus unanswered-read address=0x6162" ] &&
    python3 - "$folder/records.json" "$folder/t.txt" <<'PY'
import json, sys
records = json.load(open(sys.argv[1]))["records"]
assert len(records) == len(open(sys.argv[2]).readlines())
(start,) = [r for r in records if r["event"] == "ENG_START"]
assert start["layer"] == "eng" and start["class"] == "plain" and start["fields"]["descriptor"] == 0, start
PY
then
    echo "ok 6 - records as JSON, and guest errors alone"
else
    echo "not ok 6 - records as JSON, and guest errors alone"
fi
refused() {
    "$ANEMONE" trace "$1" >/dev/null 2>"$folder/log"
    [ $? = 1 ] && grep -q "$2" "$folder/log"
}
if refused "$folder/short.bin" "are left" && refused "$folder/newer.bin" "version 3" && refused "$folder/t.txt" "not a binary trace"; then
    echo "ok 7 - a cut file, a newer version and another file are refused by name"
else
    sed 's/^/# /' "$folder/log"
    echo "not ok 7 - a cut file, a newer version and another file are refused by name"
fi
# A program that makes the default machine from the environment, and returns from main.
for form in txt bin json; do
    ANEMONE_TRACE=$folder/default.$form "$ANEMONE" bench dispatch --count 10 --embedded-only >"$folder/log" 2>&1 || sed 's/^/# /' "$folder/log"
done
if "$ANEMONE" trace "$folder/default.bin" >"$folder/printed.txt" 2>"$folder/log" && [ -s "$folder/printed.txt" ] &&
    cmp -s "$folder/default.txt" "$folder/printed.txt"; then
    echo "ok 8 - ANEMONE_TRACE with .bin writes records, which print the lines of the text form"
else
    sed 's/^/# /' "$folder/log"
    echo "not ok 8 - ANEMONE_TRACE with .bin writes records, which print the lines of the text form"
fi
if python3 - "$folder/default.json" "$folder/default.txt" <<'PY'
import json, sys
events = json.load(open(sys.argv[1]))["traceEvents"]
assert len([e for e in events if e.get("cat") in ("plain", "guest-error")]) == len(open(sys.argv[2]).readlines())
(first,) = [e for e in events if e.get("name") == "DRV_APERTURE" and e["args"]["number"] == 1]
assert first["args"]["name"] == "ANE" and first["args"]["base"] == "0x284000000", first
(ready,) = [e for e in events if e.get("name") == "the controller is ready"]
assert ready["args"] == {}, ready
PY
then
    echo "ok 9 - ANEMONE_TRACE with .json writes the whole of the viewer's form, one event for each line"
else
    echo "not ok 9 - ANEMONE_TRACE with .json writes the whole of the viewer's form, one event for each line"
fi
"$ANEMONE" trace "$folder/t.bin" --viewer >"$folder/viewer.json" 2>"$folder/log"
if [ -s "$folder/t.json" ] && cmp -s "$folder/t.json" "$folder/viewer.json"; then
    echo "ok 10 - the binary form becomes the viewer's"
else
    sed 's/^/# /' "$folder/log"
    echo "not ok 10 - the binary form becomes the viewer's"
fi
