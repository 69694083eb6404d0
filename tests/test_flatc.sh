#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# main.e5 as the format's own compiler reads it, by our schema. Prints TAP; skipped where there is no flatc.
#
#     ANEMONE=build/anemone test_flatc.sh
set -u
anemone=${ANEMONE:?names the command}
root=$(cd "$(dirname "$0")/.." && pwd)
if ! command -v flatc >/dev/null 2>&1; then
    echo "1..0 # SKIP no flatc here (Debian's flatbuffers-compiler)"
    exit 0
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export XDG_CACHE_HOME="$folder/cache"

cat >"$folder/m.mil" <<'MIL'
program(1.3)
{
  func main<ios18>(tensor<fp16, [1, 4, 5, 33]> x, tensor<fp16, [4, 1, 1]> z) {
    tensor<fp16, [1, 4, 5, 33]> y = add(x = x, y = z)[name = string("y")];
  } -> (y);
}
MIL

echo "1..2"
status=0
if "$anemone" compile "$folder/m.mil" --output "$folder/m.bundle" >"$folder/log" 2>&1 &&
    flatc --json --strict-json --raw-binary -o "$folder" "$root/schemas/e5.fbs" -- "$folder/m.bundle/main.e5" >>"$folder/log" 2>&1; then
    echo "ok 1 - flatc reads main.e5"
else
    echo "not ok 1 - flatc reads main.e5"
    sed 's/^/# /' "$folder/log"
    status=1
fi

if python3 - "$folder/main.json" >"$folder/log" 2>&1 <<'PYTHON'
import json
import sys

program = json.load(open(sys.argv[1]))
function = program["functions"][0]
names = program["symbol_names"]
ports = {names[port["name"]]: port for port in function["ports"]}
assert program["format_version"] == 4
assert len(program["build_info"]) == 7
assert names[function["name"]] == "main"
assert sorted(ports) == ["x", "y", "z"]
assert ports["x"]["tensor"]["stride"] == [4 * 5 * 128, 5 * 128, 128, 2]
assert ports["y"]["direction"] == "output"
assert [op["type"] for op in function["blocks"][0]["operations"]] == ["cast", "ane_inference", "cast"]
assert len(program["sections"][0]["data"]) == 256
PYTHON
then
    echo "ok 2 - its fields are those of the model"
else
    echo "not ok 2 - its fields are those of the model"
    sed 's/^/# /' "$folder/log"
    status=1
fi
exit $status
