#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The anemone command: verbs, exit statuses, where messages go, JSON that parses. Prints TAP.
#
#     ANEMONE=build/anemone test_tool.sh
set -u
anemone=${ANEMONE:?names the command}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export XDG_CACHE_HOME="$folder/cache"
programs=${ANEMONE_PROGRAMS:-$(dirname "$0")/../../shared/programs}
unset ANEMONE_NUMERICS ANEMONE_THREADS ANEMONE_TRACE
count=0
failed=0

# result STATUS NAME [SKIPPED]: one line of TAP, and what the command said when it failed
result()
{
    count=$((count + 1))
    if [ "$1" -eq 0 ]; then
        echo "ok $count - $2${3:+ # SKIP $3}"
        return
    fi
    failed=$((failed + 1))
    echo "not ok $count - $2"
    sed 's/^/# out: /' "$folder/out" | head -n 20
    sed 's/^/# err: /' "$folder/err" | head -n 20
}

# gives STATUS WORDS...: the command ends with this status
gives()
{
    wanted=$1
    shift
    "$anemone" "$@" >"$folder/out" 2>"$folder/err"
    found=$?
    [ "$found" -eq "$wanted" ]
    result $? "anemone $* ends with $wanted"
}

# says TEXT: the last command's messages hold it, and its stdout is empty
says()
{
    grep -qF -- "$1" "$folder/err" && ! [ -s "$folder/out" ]
    result $? "  saying: $1"
}

# shows TEXT: the last command's results hold it, and it said nothing
shows()
{
    grep -qF -- "$1" "$folder/out" && ! [ -s "$folder/err" ]
    result $? "  showing: $1"
}

json()
{
    python3 -m json.tool <"$folder/out" >"$folder/json" 2>>"$folder/err"
    result $? "  its results are JSON"
}

# holds EXPRESSION: true of the last results, as d
holds()
{
    python3 -c "import json, sys; d = json.load(open(sys.argv[1])); sys.exit(0 if ($1) else 1)" "$folder/out" 2>>"$folder/err"
    result $? "  where $1"
}

# tensor FILE TYPE SHAPE VALUE...: writes a .npy file; the last value is repeated. TYPE is e (fp16), f (fp32), B (uint8), b (int8) or ? (bool)
tensor()
{
    python3 - "$@" <<'PYTHON'
import math, struct, sys
path, kind, shape = sys.argv[1], sys.argv[2], [int(d) for d in sys.argv[3].split(",") if d]
values = [(float if kind in "ef" else int)(v) for v in sys.argv[4:]]
values += values[-1:] * (math.prod(shape) - len(values))
descr = {"e": "<f2", "f": "<f4", "B": "|u1", "b": "|i1", "?": "|b1"}[kind]
text = "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }\n" % (descr, "".join("%d, " % d for d in shape))
with open(path, "wb") as file:
    file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + struct.pack("<%d%s" % (len(values), kind), *values))
PYTHON
}

# tensor_is FILE TYPE SHAPE VALUE: every element has this value
tensor_is()
{
    python3 - "$@" 2>>"$folder/err" <<'PYTHON'
import ast, struct, sys
data = open(sys.argv[1], "rb").read()
size = struct.unpack("<H", data[8:10])[0]
head, data = ast.literal_eval(data[10:10 + size].decode()), data[10 + size:]
assert head["descr"] == {"e": "<f2", "f": "<f4", "B": "|u1", "b": "|i1"}[sys.argv[2]], head
values = struct.unpack("<%d%s" % (len(data) // struct.calcsize(sys.argv[2]), sys.argv[2]), data)
good = head["shape"] == tuple(int(d) for d in sys.argv[3].split(",") if d) and set(values) == {float(sys.argv[4])}
sys.stderr.write("" if good else "%s holds %s %s\n" % (sys.argv[1], head, sorted(set(values))[:4]))
sys.exit(0 if good else 1)
PYTHON
    result $? "  $(basename "$1") holds $4 everywhere"
}

# The front.
gives 2
says "anemone VERB"
gives 0 --help
shows "Exit status: 0 ok, 1 failure, 2 wrong usage."
gives 0 --version
shows "anemone "
gives 2 dance
says "there is no verb dance"
for verb in accel info spec compile compare run serve top cache inspect check assemble bench demo doctor; do
    gives 0 "$verb" --help
    shows "anemone $verb"
    gives 2 "$verb" --no-such-option
    says "there is no option --no-such-option here"
done

# `--` ends the options: what follows is a word, also when it begins with dashes.
for verb in accel info spec compile compare run serve top cache inspect check assemble bench demo doctor; do
    "$anemone" "$verb" -- --help >"$folder/out" 2>"$folder/err"
    status=$?
    [ "$status" -ne 0 ] && ! [ -s "$folder/out" ] && ! grep -q "no option" "$folder/err"
    result $? "anemone $verb -- --help does not print its help"
done
gives 0 spec --json -- limits
json
gives 2 info -- --json
says "--json is one word too many"

# What cannot be written is a failure.
for words in --help --version help "info --help" "spec --help" "compile --help" "compare --help" "run --help" "serve --help" "top --help" "cache --help" "inspect --help" "accel --help" \
    "check --help" "assemble --help" "bench --help" "demo --help" "doctor --help" info spec "spec --json" "cache list" "bench m1"; do
    # shellcheck disable=SC2086
    "$anemone" $words >/dev/full 2>"$folder/err"
    [ $? -eq 1 ] && grep -q "^anemone: .*stdout.*No space left on device" "$folder/err"
    result $? "anemone $words >/dev/full fails and says why"
done

# Boards: the power domains of the public device trees.
gives 0 info --chip t8103 --json
json
holds "[p['address'] for p in d['boards'][0]['domains'] if p['name'] == 'ane_sys'] == [0x23b700470]"
holds "d['boards'][0]['page_table'] == 't8020' and d['boards'][0]['bases']['engine'] == 0x26bc04000"
gives 0 info --chip t6000
shows "0x0028e0802c8  engine dart1 dart2; needs ane_sys"

# Spec.
gives 0 spec
shows "selectors"
gives 0 spec --json
json
holds "len(d['selectors']['control']) == 17"
gives 0 spec limits
shows "custom_bars"
gives 0 spec --list --json
json
gives 2 spec nothing
says "there is no section nothing"
gives 2 spec limits stats
says "stats is one word too many"

# Compile and cache.
cat >"$folder/add.mil" <<'MIL'
program(1.3)
{
    func main<ios18>(tensor<fp16, [1, 8, 1, 32]> a, tensor<fp32, [1, 8, 1, 32]> b) {
        tensor<fp16, [1, 8, 1, 32]> c = cast(dtype = string("fp16"), x = b);
        tensor<fp16, [1, 8, 1, 32]> y = add(x = a, y = c)[name = string("add")];
    } -> (y);
}
MIL
gives 0 cache list --json
json
holds "d['entries'] == [] and d['bytes'] == 0"
gives 0 compile "$folder/add.mil" --json
json
holds "d['cache'] == 'miss' and len(d['key']) == 64 and d['descriptors'] >= 1"
gives 0 compile "$folder/add.mil" --json
holds "d['cache'] == 'hit'"
gives 0 compile "$folder/add.mil" --force --json
holds "d['cache'] == 'miss'"
gives 0 compile "$folder/add.mil" --output "$folder/add.bundle"
[ -f "$folder/add.bundle/main.e5" ] && [ -f "$folder/add.bundle/manifest.json" ]
result $? "  --output leaves a bundle"
gives 0 compile "$folder/add.mil" --report --force
grep -q add "$folder/out"
result $? "  --report names the operation"
gives 0 cache list
shows "1 entry,"
key=$("$anemone" cache list | cut -c1-12 | head -n 1)
gives 1 cache remove 0000beef
says "no such entry"
gives 1 cache remove abc
says "too short"
gives 0 cache remove "$key"
shows "0 entries, 0 bytes"
"$anemone" compile "$folder/add.mil" >/dev/null
gives 0 cache trim 1G
shows "1 entry,"
gives 0 cache trim 0 --json
holds "d['entries'] == []"
"$anemone" compile "$folder/add.mil" >/dev/null
gives 0 cache clear
shows "0 entries"
gives 2 cache
says "anemone cache ls"
gives 2 cache trim much
says "not a number of bytes"
gives 2 cache empty
says "cache takes ls, rm or gc, not empty."
gives 2 cache ls --all
says "cache ls takes nothing but --json"
gives 2 cache rm
says "cache rm takes keys of entries, or --all"
gives 2 compile --list --report
says "--list takes no model, and no option but --json."
gives 1 compile "$folder/add.bundle" --report
says "a bundle does not say what its nodes were"
gives 0 compile "$folder/add.bundle"
shows "checked       every byte"
gives 1 compile "$folder/add.bundle" --shape a=1
says "only inputs of an ONNX model"
gives 1 compile "$folder/add.mil" --bind "a=$folder/absent.npy"
says "absent.npy: No such file or directory."
gives 2 compile "$folder/add.mil" --html ""
says "--html takes the name of a file."
gives 1 compare "$folder/add.bundle"
says "compare takes the model itself, a .mil or .onnx file."
gives 2 compile
says "anemone compile MODEL"
gives 1 compile "$folder/absent.mil"
says "absent.mil"
says "absent.mil: cannot be opened: No such file or directory."
gives 1 compile "$folder/absent"
says "absent: cannot be opened: No such file or directory."
gives 1 compile "$folder/absent.hwx"
says "absent.hwx: cannot be opened: No such file or directory."
gives 1 compile "$(dirname "$0")/fuzz/seeds/anec/add"
says "seeds/anec/add: a compiled program is not compiled again; it can be run as it is."
cp "$folder/add.mil" "$folder/add.text"
gives 1 compile "$folder/add.text"
says "add.text: a model is a .mil or .onnx file, the folder of a bundle"
mkdir "$folder/plain"
gives 1 compile "$folder/plain"
says "plain: the folder has no manifest.json, so it is not a bundle."
cp "$folder/add.mil" "$folder/plain/model.mil"
gives 1 compile "$folder/plain"
says "plain: the folder has no manifest.json, so it is not a bundle; it has a model.mil, which can be compiled."
gives 0 compile "$folder/add.mil" --output "$folder/slash.bundle/"
gives 1 compile "$folder/add.mil" --output "$folder/no/x.bundle"
says "no/x.bundle: nothing can be created in the folder $folder/no: No such file or directory."
gives 2 compile "$folder/add.mil" --output "$folder/one.bundle" --output="$folder/two.bundle"
says "--output is given twice."
gives 2 compile "$folder/add.mil" --json=yes
says "--json takes no value."
cp "$folder/add.mil" "$folder/--odd.mil"
(cd "$folder" && "$anemone" compile --report -- --odd.mil) >"$folder/out" 2>"$folder/err"
result $? "a model whose name begins with dashes is compiled after --"
printf 'program(1.3) { nonsense' >"$folder/bad.mil"
gives 1 compile "$folder/bad.mil"
says "bad.mil"

# Run: words.
gives 2 run
says "anemone run MODEL"
gives 2 run "$folder/add.mil" --input
says "--input needs a value"
gives 2 run "$folder/add.mil" --input a.npy
says "--input takes NAME=FILE, not a.npy"
gives 2 run "$folder/add.mil" --repeat 0
says "--repeat takes a number from 1"
gives 2 run "$folder/add.mil" --repeat 3x
says "--repeat takes a number from 1"
for number in none 0 65 1024 -1 ""; do
    gives 2 run "$folder/add.mil" --threads "$number"
    says "--threads takes a number from 1 to 64, not '$number'."
done
gives 2 run "$folder/add.mil" --repeat 2 --repeat 3
says "--repeat is given twice."
gives 2 run "$folder/add.mil" --numerics exact
says "there is no numeric policy exact; m1, ieee and m1-exact are known"
gives 2 run "$folder/add.mil" --winograd yes
says "--winograd is yes; on and off are known"
gives 2 run "$folder/add.mil" --json --output y=-
says "--json and an output on stdout exclude each other"
gives 1 run "$folder/absent.mil"
says "absent.mil"

# Run: tensors.
tensor "$folder/a.npy" e 1,8,1,32 1.5
tensor "$folder/b.npy" f 8,32 2.25
add="run $folder/add.mil"
gives 1 $add
says "no --input for a, fp16 [1, 8, 1, 32]."
says "no --input for b, fp32 [1, 8, 1, 32]."
gives 1 $add --input a="$folder/a.npy"
says "no --input for b"
gives 1 $add --input x="$folder/a.npy"
says "the model has no input x:"
gives 1 $add --input a="$folder/a.npy" --input a="$folder/a.npy"
says "input a is given twice"
gives 1 $add --input a="$folder/a.npy" --input b="$folder/b.npy" --output z="$folder/y.npy"
says "the model has no output z:"
tensor "$folder/wrong.npy" e 8,1,32 1
gives 1 $add --input a="$folder/wrong.npy"
says "its shape is [8, 1, 32]; input a is [1, 8, 1, 32]."
gives 1 $add --input a="$folder/add.mil"
says "it is not a .npy file"
gives 1 $add --input a=/dev/zero
says "/dev/zero: it is not a .npy file"
gives 1 $add --input a="$folder"
says "it is a folder"
gives 1 $add --input a="$folder/absent.npy"
says "absent.npy: No such file or directory"
head -c 300 "$folder/a.npy" >"$folder/short.npy"
gives 1 $add --input a="$folder/short.npy"
says "of the 512 bytes that 256 elements of fp16 need"
(cat "$folder/a.npy" && echo) >"$folder/long.npy"
gives 1 $add --input a="$folder/long.npy"
says "more than the 512 bytes that 256 elements of fp16 need"
# The header is judged before the data is read: of a tensor of 2 MB most is left.
tensor "$folder/large.npy" e 1024,1024 1
{
    "$anemone" $add --input a=- >"$folder/out" 2>"$folder/err"
    wc -c >"$folder/left"
} <"$folder/large.npy"
[ "$(cat "$folder/left")" -gt 2000000 ] && grep -q "its shape is \[1024, 1024\]; input a is \[1, 8, 1, 32\]" "$folder/err"
result $? "a tensor of the wrong shape is not read"
"$anemone" $add --input a=- --input b="$folder/b.npy" --output y="$folder/z.npy" <"$folder/a.npy" >"$folder/out" 2>"$folder/err"
result $? "a tensor is read from stdin"
gives 0 $add --input a="$folder/a.npy" --input b="$folder/b.npy" --output y="$folder/z.npy" --threads 64
cp "$folder/a.npy" "$folder/--a.npy"
(cd "$folder" && "$anemone" run --input a=--a.npy --input b=b.npy -- --odd.mil) >"$folder/out" 2>"$folder/err"
result $? "a model whose name begins with dashes is run after --"
(cd "$folder" && "$anemone" run -- --odd.mil --input a=a.npy) >"$folder/out" 2>"$folder/err"
[ $? -eq 2 ] && grep -q "one word too many" "$folder/err"
result $? "no option is taken after --"
"$anemone" $add --input a="$folder/a.npy" --input b="$folder/b.npy" --output y=- >/dev/full 2>"$folder/err"
[ $? -eq 1 ] && grep -q "No space left on device" "$folder/err"
result $? "an output on a full stdout is a failure"
gives 0 $add --input a="$folder/a.npy" --input=b="$folder/b.npy" --output y="$folder/y.npy"
shows "y  fp16 [1, 8, 1, 32]  -> "
tensor_is "$folder/y.npy" e 1,8,1,32 3.75
gives 0 run "$folder/add.bundle" --input a="$folder/a.npy" --input b="$folder/b.npy" --output y="$folder/z.npy"
cmp "$folder/y.npy" "$folder/z.npy" >"$folder/out" 2>&1
result $? "  a bundle gives the same bytes"
# More ports than the engine has buffers: output k is input k plus input 60 + k.
python3 - "$folder/ports.mil" <<'END'
import sys
ports = range(60)
lines = [f"        tensor<fp16, [8, 32]> y{k} = add(x = x{k}, y = x{60 + k})[name = string(\"y{k}\")];" for k in ports]
open(sys.argv[1], "w").write("program(1.3)\n{\n    func main<ios18>("
    + ", ".join(f"tensor<fp16, [8, 32]> x{k}" for k in range(120)) + ") {\n" + "\n".join(lines)
    + "\n    } -> (" + ", ".join(f"y{k}" for k in ports) + ");\n}\n")
END
many="run $folder/ports.mil --output y0=$folder/first.npy --output y59=$folder/last.npy"
for k in $(seq 0 119); do
    tensor "$folder/in$((k % 7)).npy" e 8,32 "$((k % 7)).5"
    many="$many --input x$k=$folder/in$((k % 7)).npy"
done
gives 0 $many
tensor_is "$folder/first.npy" e 8,32 5
tensor_is "$folder/last.npy" e 8,32 4
"$anemone" $add --input a="$folder/a.npy" --input b="$folder/b.npy" --output y=- >"$folder/piped.npy" 2>"$folder/err"
cmp "$folder/y.npy" "$folder/piped.npy" >"$folder/out" 2>&1
result $? "an output on stdout gives the same bytes"
gives 0 $add --input a="$folder/a.npy" --input b="$folder/b.npy" --output y="$folder/z.npy" --repeat 20 --json --numerics ieee \
    --winograd off --threads 2 --trace "$folder/trace.json"
json
holds "set(d['latency_us']) == {'p10', 'p50', 'p90'} and d['repeat'] == 20"
holds "all(value >= 0 for value in d['stages'].values()) and len(d['stages']) == 6"
holds "d['timing'] == 'm1' and 185 < d['m1_estimate_us'] < 195 and d['m1_estimate_us'] == d['whole_virtual_us']"
gives 0 $add --input a="$folder/a.npy" --input b="$folder/b.npy" --json --timing none
json
holds "d['timing'] == 'none' and d['whole_virtual_us'] < 5 and 185 < d['m1_estimate_us'] < 195"
gives 2 $add --input a="$folder/a.npy" --input b="$folder/b.npy" --timing fast
says "there is no timing fast; m1 and none are known"
ASAN_OPTIONS=verify_asan_link_order=0 gives 0 bench accel --count 10 --json
json
holds "d['machine']['submit_p50_us'] > 0 and d['preload']['submit_p50_us'] > 0 and d['plain']['open_stat_p50_us'] > 0"
gives 2 bench accel --way node
gives 2 bench submit --way nothing
says "bench submit needs --way node|plain"
gives 0 accel --where
gives 2 accel --where more
gives 0 bench threads --json
json
holds "abs(d['gain'] - 190 / 142.5) < 0.02 and d['m1_measured_gain'] == 1.04"
gives 0 bench network "$folder/add.mil" --count 3 --descriptors --json
json
holds "d['runs'] == 3 and d['threads'] == 1 and 0 < d['min_us'] <= d['p50_us'] and len(d['descriptors']) == 1"
holds "d['descriptors'][0]['index'] == 0 and d['descriptors'][0]['text'].startswith('add ')"
gives 0 bench network "$folder/add.mil" --count 3 --numerics m1-exact --threads 2
shows "2 threads: shortest"
gives 2 bench network
gives 2 bench network "$folder/add.mil" --numerics fast
says "there is no numeric policy fast"
gives 1 bench network "$folder/nothing.mil"
cmp "$folder/y.npy" "$folder/z.npy" >"$folder/out" 2>&1
result $? "  two threads and ieee give the same bytes"
python3 -m json.tool <"$folder/trace.json" >/dev/null 2>"$folder/err"
result $? "  the trace is JSON"
gives 0 $add --input a="$folder/a.npy" --input b="$folder/b.npy" --trace "$folder/trace.txt"
grep -q "drv the controller is ready" "$folder/trace.txt"
result $? "  the trace has the boot"

# A cache that cannot be used: the model runs all the same, and one sentence says why it is not kept.
: >"$folder/file"
for place in "" "$folder/file" /proc/anemone; do
    "$anemone" cache clear >/dev/null
    (
        unset HOME XDG_CACHE_HOME
        [ -z "$place" ] || export XDG_CACHE_HOME="$place"
        "$anemone" $add --input a="$folder/a.npy" --input b="$folder/b.npy" --output y="$folder/z.npy" &&
            "$anemone" compile "$folder/add.mil" --output "$folder/memory.bundle"
    ) >"$folder/out" 2>"$folder/err"
    result $? "run and compile with the cache in '$place'"
    [ "$(grep -c "^anemone: The cache cannot be used, so the program was compiled in memory and is not kept: " "$folder/err")" -eq 2 ] &&
        [ "$(wc -l <"$folder/err")" -eq 2 ]
    result $? "  each says so once"
    cmp "$folder/y.npy" "$folder/z.npy" >>"$folder/err" 2>&1 && cmp "$folder/add.bundle/main.e5" "$folder/memory.bundle/main.e5" >>"$folder/err" 2>&1
    result $? "  the results are the same"
done
(unset HOME XDG_CACHE_HOME && "$anemone" run "$folder/absent.mil") >"$folder/out" 2>"$folder/err"
[ $? -eq 1 ] && grep -q "absent.mil: cannot be opened: No such file" "$folder/err" && ! grep -q HOME "$folder/err"
result $? "a missing model without HOME is a missing model"

# Run: program images.
if [ -f "$programs/sum.hwx" ]; then
    tensor "$folder/i.npy" f 1,64,1,1 1.5
    tensor "$folder/j.npy" e 64 2
    gives 0 run "$programs/sum.hwx" --input image="$folder/i.npy" --input image2="$folder/j.npy" --output probs="$folder/p.npy"
    tensor_is "$folder/p.npy" e 1,64,1,1 3.5
    cp "$programs/sum.hwx" "$folder/nameless"
    gives 0 run "$folder/nameless" --input image="$folder/i.npy" --input image2="$folder/j.npy" --output "probs@output=$folder/q.npy"
    cmp "$folder/p.npy" "$folder/q.npy" >"$folder/out" 2>&1
    result $? "  by content and not by name"
else
    result 0 "program images" "no shared programs"
fi

# An .anec: the fuzzer's seeds are y0 = x0 + x1, with the content at 0x1000 (add) and at 0x800 (short).
tensor "$folder/x0.npy" e 1,3,2,33 1.5
tensor "$folder/x1.npy" f 3,2,33 0.25
for seed in add short; do
    cp "$(dirname "$0")/fuzz/seeds/anec/$seed" "$folder/$seed"
    gives 0 inspect "$folder/$seed" --json
    json
    holds "d['format'] == 'anec' and [(p['name'], p['direction']) for p in d['ports']] == [('y0', 'output'), ('x0', 'input'), ('x1', 'input')]"
    holds "all(p['type'] == 'float16' and p['shape'] == [1, 3, 2, 33] and p['strides'] == [768, 256, 128, 2] for p in d['ports'])"
    gives 0 check "$folder/$seed"
    shows "1 descriptors, 0 problems"
    gives 0 run "$folder/$seed" --input x0="$folder/x0.npy" --input x1="$folder/x1.npy" --output y0="$folder/y0.npy"
    tensor_is "$folder/y0.npy" e 1,3,2,33 1.75
done

# A firmware image: the fuzzer's seed is one without code.
cp "$(dirname "$0")/fuzz/seeds/image/wrapped" "$folder/firmware"
gives 0 inspect "$folder/firmware"
shows "payload tag anef"
shows "none: the image was built without a cross compiler"
shows "__TEXT           0x10000000  0x4000 bytes"
gives 0 inspect - <"$folder/firmware"
gives 0 inspect "$folder/firmware" --json
json
holds "d['format'] == 'firmware' and d['entry'] == 0x10000000 and not d['code'] and d['segments'][0]['name'] == '__TEXT'"
sed 's/anef/anex/' "$folder/firmware" >"$folder/tag"
gives 1 inspect "$folder/tag"
says "The payload tag of the firmware image is \"anex\", not \"anef\"."
sed 's/__TEXT/__TEXX/' "$folder/firmware" >"$folder/altered"
gives 1 inspect "$folder/altered"
says "The firmware image was altered"
head -c 300 "$folder/firmware" >"$folder/short-firmware"
gives 1 inspect "$folder/short-firmware"
says "The firmware image is truncated"
gives 1 run "$folder/add" --input x0="$folder/x0.npy" --input x1="$folder/x1.npy" --firmware "$folder/tag"
says "The payload tag of the firmware image"
gives 1 run "$folder/add" --input x0="$folder/x0.npy" --input x1="$folder/x1.npy" --core emulated --firmware "$folder/firmware"
says "has no code for the emulated core"
gives 2 run "$folder/add" --core fast
says "there is no core fast; native and emulated are known."
gives 2 demo --core fast
says "there is no core fast"

# An .anec of bytes: the seed is y0 = relu(x0), int8 to uint8.
cp "$(dirname "$0")/fuzz/seeds/anec/bytes" "$folder/bytes"
gives 0 inspect "$folder/bytes" --json
json
holds "[(p['name'], p['type'], p['strides']) for p in d['ports']] == [('y0', 'uint8', [384, 128, 64, 1]), ('x0', 'int8', [384, 128, 64, 1])]"
gives 0 inspect "$folder/bytes"
shows "uint8 [1, 3, 2, 33]  strides 384 128 64 1"
gives 0 check "$folder/bytes"
tensor "$folder/i8.npy" b 1,3,2,33 -7
gives 0 run "$folder/bytes" --input x0="$folder/i8.npy" --output y0="$folder/y8.npy"
shows "y0  uint8 [1, 3, 2, 33]  -> "
tensor_is "$folder/y8.npy" B 1,3,2,33 0
tensor "$folder/i8.npy" b 3,2,33 127
gives 0 run "$folder/bytes" --input x0="$folder/i8.npy" --output y0="$folder/y8.npy" --json
holds "d['outputs'][0]['type'] == 'uint8'"
tensor_is "$folder/y8.npy" B 1,3,2,33 127
for kind in e f B "?"; do
    tensor "$folder/one.npy" "$kind" 1,3,2,33 1
    gives 0 run "$folder/bytes" --input x0="$folder/one.npy" --output y0="$folder/y8.npy"
    tensor_is "$folder/y8.npy" B 1,3,2,33 1
done
tensor "$folder/u8.npy" B 1,3,2,33 127 128
gives 1 run "$folder/bytes" --input x0="$folder/u8.npy"
says "u8.npy: its element 1 is 128; int8 holds whole numbers from -128 to 127."
tensor "$folder/half.npy" e 1,3,2,33 1 2 0.5
gives 1 run "$folder/bytes" --input x0="$folder/half.npy"
says "half.npy: its element 2 is 0.5; int8 holds whole numbers from -128 to 127."
gives 1 run "$folder/bytes"
says "no --input for x0, int8 [1, 3, 2, 33]."
head -c 4000 "$folder/add" >"$folder/cut.anec"
gives 1 check "$folder/cut.anec"
says "No descriptor of 157 words begins the content"
gives 1 run "$folder/cut.anec"
says "No descriptor of 157 words begins the content"

# Check and inspect: y0 = clamp(x0), by a table in the constants and a buffer between two descriptors.
seed=$(dirname "$0")/fuzz/seeds/anec/scratch
gives 0 check "$seed"
shows "2 descriptors, 0 problems, 1 remarks"
gives 0 inspect "$seed"
shows "NE copy: 3x2x24 from buffer 5 -> 3x2x24 to buffer 3, 1 engine, activation table."
shows "table code 0x1, knots 2^-64 apart: clamp"
shows "L2.SourceCfg.SourceType                  2           = DMA, staged"
gives 0 inspect "$seed" --json
json
holds "d['descriptors'][0]['table']['function'] == 'clamp' and d['descriptors'][0]['kernel'][0]['bytes'] == 128"
holds "d['descriptors'][1]['task'].startswith('NE copy: 3x2x24 from buffer 3')"
holds "any(f['name'] == 'SourceType' and f['value_meaning'] == 'DMA, staged' for f in d['descriptors'][0]['fields'])"
"$anemone" inspect "$seed" --listing >"$folder/scratch.td"
gives 0 check "$folder/scratch.td"
shows "2 descriptors, 0 problems, 0 remarks"
gives 0 inspect "$folder/scratch.td" --json
holds "d['format'] == 'listing' and len(d['descriptors']) == 2"
# The scratch buffer is made too small, a stride too large, and a value what nobody explains: all three are told.
python3 - "$seed" "$folder/bad.anec" <<'PYTHON'
import struct, sys
data = bytearray(open(sys.argv[1], "rb").read())
struct.pack_into("<I", data, 0x1000 + 0x17c, 0x40000)  # descriptor 0: PlaneStride of the source
struct.pack_into("<I", data, 0x1000 + 0x264, 0x2000)  # and of the result, in the scratch buffer
struct.pack_into("<I", data, 0x1300 + 0x244, 0x10000d)  # descriptor 1: OpMode 5
open(sys.argv[2], "wb").write(data)
PYTHON
# Only the first: the source's last plane is past its buffer, which the driver cannot know and the DART refuses.
python3 - "$seed" "$folder/past.anec" <<'PYTHON'
import struct, sys
data = bytearray(open(sys.argv[1], "rb").read())
struct.pack_into("<I", data, 0x1000 + 0x17c, 0x40000)
open(sys.argv[2], "wb").write(data)
PYTHON
tensor "$folder/past.npy" e 1,3,2,24 1
gives 1 run "$folder/past.anec" --input x0="$folder/past.npy"
says "DART fault: translation fault, no page"
says "tensor      input 0 \"x0\""
says "transfer    source 1 of descriptor 0, procedure 0"
says "what to do  the transfer leaves its buffer"
gives 1 run "$folder/past.anec" --input x0="$folder/past.npy" --json
json
holds "d['fault']['why'] == 'no page' and d['fault']['descriptor'] == 0 and d['fault']['transfer'] == 'source 1' and not d['fault']['write']"
holds "d['fault']['status'] == 1 << 31 | d['fault']['stream'] << 24 | 4 and d['fault']['dart'] == 1 and d['fault']['client'] == 1"
holds "d['fault']['page'] % 0x4000 == 0 and d['fault']['l3_index'] == d['fault']['address'] >> 14 & 2047"
gives 1 check "$folder/bad.anec"
shows "but buffer 5 (an input) has 0x4000."
shows "The DART faults on the address"
shows "but buffer 3 (the scratch buffer) has 0x4000."
shows "OpMode (register 0xc804) is 5"
shows "2 descriptors, 3 problems, 1 remarks"
gives 1 check "$folder/bad.anec" --json
json
holds "[f['descriptor'] for f in d['findings'] if not f['remark']] == [0, 0, 1] and not d['good'] and all(f['engine'] for f in d['findings'])"
printf 'descriptor\n  Nonsense=1\n' >"$folder/nonsense.td"
gives 1 check "$folder/nonsense.td"
says "nonsense.td: "
gives 1 inspect "$folder/nonsense.td"
says "nonsense.td: "
gives 2 check
says "anemone check FILE"

# A stream without a container, as drivers have it: y0 = x0 + x1 of the seed, cut out of its .anec.
python3 - "$(dirname "$0")/fuzz/seeds/anec/add" "$(dirname "$0")/fuzz/seeds/anec/chain" "$folder" <<'PYTHON'
import os, struct, sys
add, chain, folder = open(sys.argv[1], "rb").read()[0x1000:0x1274], open(sys.argv[2], "rb").read()[0x1000:], sys.argv[3]
def write(name, data):
    os.makedirs(os.path.dirname(folder + "/" + name) or ".", exist_ok=True)
    open(folder + "/" + name, "wb").write(data)
def network(data):  # as libane numbers the first descriptor of a btsp buffer
    return struct.pack("<I", struct.unpack_from("<I", data)[0] & ~0xff0000 | 0x400000) + data[4:]
write("raw/add.bin", add)
write("raw/add.btsp", network(add) + bytes(0x4000 - 0x274))
write("raw/alone.btsp", network(chain[:0x274]))  # the second descriptor is in another buffer
write("raw/chain.bin", chain)
write("raw/late.bin", add + b"\x38" * 0x8c)  # a kernel at once behind the descriptor
write("raw/odd.bin", add[:0x254] + b"\x38" * 0x100)  # a descriptor without its last record, and no zeros behind
bad = bytearray(network(add) + bytes(0x4000 - 0x274))
struct.pack_into("<I", bad, 0x16c, 0x80000000 | struct.unpack_from("<I", bad, 0x16c)[0])  # a bit of DMAConfig without a field
write("raw/bad.btsp", bytes(bad))
write("raw/deep/er/add.bin", add)
write("raw/empty", b"")
write("raw/notes.txt", b"data of a long day\n")
write("raw/noise", bytes(range(256)) * 300)
PYTHON
gives 0 check "$folder/raw/add.btsp"
shows "the first descriptor has 157 words (td_size 0x274), because its records end there; the chain has 1."
shows "15756 bytes of zeros follow the stream, which ends at 0x274."
shows "1 descriptors, 0 problems, 2 remarks"
gives 0 check "$folder/raw/add.bin" --raw --json
json
holds "d['format'] == 'stream' and d['good'] and d['outcome'] == 'runs' and [f['kind'] for f in d['findings']] == ['about the file']"
gives 0 check "$folder/raw/alone.btsp"
shows "Only the first descriptor is here; the next one, at 0x300"
shows "1 descriptors, 0 problems"
gives 0 check "$folder/raw/chain.bin" --descriptors 1
shows "The program declares 1 descriptors, but descriptor 0 goes on"
shows "1 descriptors, 0 problems, 3 remarks"
gives 0 check "$folder/raw/late.bin"
shows "140 bytes follow the stream, which ends at 0x274; from 0x274 on they are not zero."
gives 1 check "$folder/raw/odd.bin"
says "odd.bin: if it is a descriptor stream without a container, --raw reads it."
gives 1 check "$folder/raw/odd.bin" --raw
says "at byte 0x254: The records are whole up to word 149; the word there (0x38383838) is neither a new record nor 0"
says "Tried: 157, 158, 126, 149 words; --words N gives the size."
gives 0 inspect "$folder/raw/odd.bin" --words 149
gives 1 check "$folder/raw/add.bin" --words 149
shows "the declared size is too small"
gives 1 check "$folder/raw/add.bin" --words 158
says "given 158 words; there are 628 bytes"
gives 2 check "$folder/raw/add.bin" --words 9
says "--words takes a number from 10 to 512, not '9'."
gives 1 check "$folder/raw/bad.btsp"
shows "which no public source explains"
shows "1 descriptors, 1 problems, 2 remarks"
gives 0 check "$folder/raw/bad.btsp" --lenient
shows "remark: descriptor 0, byte 0x16c, register 0x13800 TileDMASrc.DMAConfig: bits set that no public source explains"
shows "1 descriptors, 0 problems, 3 remarks"
gives 0 inspect "$folder/raw/add.btsp" --json
json
holds "d['format'] == 'btsp' and d['descriptors'][0]['words'] == 157 and d['descriptors'][0]['task'].startswith('PE add') and len(d['notes']) == 2"
gives 0 inspect "$folder/raw/add.bin"
shows "PE add: 3x2x33 from buffer"
"$anemone" inspect "$folder/raw/chain.bin" --listing >"$folder/chain.td"
gives 0 assemble "$folder/chain.td" --output "$folder/chain.back"
cmp -n 1396 "$folder/chain.back" "$folder/raw/chain.bin" >"$folder/out" 2>&1
result $? "  and the listing of a stream gives its bytes"
gives 0 check - <"$folder/raw/add.btsp"

# An .anec, and which libraries read it at the wrong place.
gives 0 check "$folder/add"
shows "libane from e585747 on reads it at 0x800, where it finds zeros, and the engine hangs"
gives 0 check "$folder/short"
shows "libane before e585747 and its fork omarchy-ane read it at 0x1000, where they find the end of the file"

# A folder: programs, files that are none, and what cannot be opened or would block.
gives 0 check "$folder/raw/deep" --recursive
shows "er/add.bin"
shows "1 files: 1 programs, 0 with problems; 0 skipped, 0 not read"
ln -s add.bin "$folder/raw/link"
ln -s deep "$folder/raw/round"
ln -s nowhere "$folder/raw/lost"
mkfifo "$folder/raw/pipe"
printf 'chain\ndescriptor\n  Nonsense=1\n' >"$folder/raw/nonsense.td"
gives 1 check "$folder/raw" --json
json
holds "{f['file']: f['form'] for f in d['files'] if f['state'] == 'checked'} == {'add.bin': 'stream', 'add.btsp': 'btsp', 'alone.btsp': 'btsp', 'bad.btsp': 'btsp', 'chain.bin': 'stream', 'late.bin': 'stream', 'link': 'stream'}"
holds "{f['file']: f['why'] for f in d['files'] if f['state'] == 'skipped'} == {'deep': '--recursive enters folders', 'empty': 'it is empty', 'noise': 'it is not a program', 'notes.txt': 'it is not a program', 'odd.bin': 'it is not a program', 'pipe': 'it is not a regular file', 'round': 'it is a link to a folder'}"
holds "[f['file'] for f in d['files'] if f['state'] == 'broken'] == ['nonsense.td'] and [f['file'] for f in d['files'] if f['state'] == 'not read'] == ['lost']"
holds "(d['programs'], d['with_problems'], d['skipped'], d['not_read'], d['good']) == (8, 2, 7, 1, False)"
holds "[(f['descriptors'], f['problems'], f['remarks'], f['outcome']) for f in d['files'] if f['file'] in ('add.bin', 'bad.btsp', 'chain.bin')] == [(1, 0, 1, 'runs'), (1, 1, 2, 'not known'), (2, 0, 2, 'runs')]"
holds "[f['file'] for f in d['files']] == sorted(f['file'] for f in d['files'])"
gives 1 inspect "$folder/raw" --recursive
shows "deep/er/add.bin"
shows "runs: PE add: 3x2x33 from buffer"
shows "16 files: 9 programs, 2 with problems; 6 skipped, 1 not read"
gives 2 inspect "$folder/raw" --listing
says "it is a folder; --listing takes one file."
mkdir "$folder/many"
(cd "$folder/many" && seq 10000 | xargs touch)
cp "$folder/raw/add.bin" "$folder/many/77"
gives 0 check "$folder/many"
shows "10000 files: 1 programs, 0 with problems; 9999 skipped, 0 not read"
rm -rf "$folder/many"
# Names in UTF-8 are names in JSON; other bytes are replaced there, and shown as numbers in the table.
mkdir "$folder/names"
for name in 'caf\303\251\360\237\230\200' 'cut\303' 'csi\302\2331m' 'line\nend'; do
    # shellcheck disable=SC2059
    cp "$folder/raw/add.bin" "$folder/names/$(printf "$name")"
done
gives 0 check "$folder/names" --json
holds "[f['file'] for f in d['files']] == ['caf\u00e9\U0001f600', 'csi\u009b1m', 'cut\ufffd', 'line\nend']"
gives 0 check "$folder/names"
shows 'csi'"$(printf '\302')"'\x9b1m'
shows 'line\x0aend'
gives 1 check "$folder/nothing-here"
says "nothing-here: No such file or directory."

# A dump of the firmware, written by hand: every section, and what is not one.
dumps=$(dirname "$0")/fuzz/seeds/dump
gives 0 inspect "$dumps/whole"
shows "a dump of the firmware of t6000 at 123456 ns, 10 sections, complete"
shows "class      3, synchronous abort"
shows "text       a store faulted"
shows "ESR        0x0000000096000045, exception class 0x25"
shows "pc   0x0000000000000084"
shows "L2C_ERR_ADR 0x3"
shows "the last 2 of 77"
shows "DATA_CHAIN_H2T 0x204  PROCEDURE_CALL "
shows "program 3  process 4  procedure 0  not answered"
shows "START"
shows "not allowed in this state (status 9)"
shows "exeloop, processor 0, hardware thread 3"
shows "in the handler of interrupt line 2"
shows "1  image + 0x2b0"
shows "execution loop in EXEC, task manager STATUS 0xa0"
shows "running cookie 0x501  program 3  process 4  procedure 0  level 5  network 9  stream 6"
shows "12 descriptors at 0x8000, 4400 ns old"
shows "server           SEMWAIT"
gives 0 inspect "$dumps/incomplete"
shows "3 sections, incomplete"
gives 0 inspect "$dumps/counts"
gives 1 inspect "$dumps/cut"
says "has"
gives 1 inspect "$dumps/twice"
says "Section 5 (restarts) is there twice."
gives 1 inspect "$dumps/whole" --json
says "shown as text alone"

# The environment, and options before it.
export ANEMONE_NUMERICS=none
gives 2 $add
says "ANEMONE_NUMERICS: there is no numeric policy none"
gives 0 $add --numerics m1 --input a="$folder/a.npy" --input b="$folder/b.npy"
unset ANEMONE_NUMERICS
for number in none 0 65 1024; do
    export ANEMONE_THREADS="$number"
    gives 2 $add
    says "ANEMONE_THREADS takes a number from 1 to 64, not '$number'."
    ! grep -q -e "--threads" "$folder/err"
    result $? "  without a word about --threads"
done
gives 0 $add --threads 1 --input a="$folder/a.npy" --input b="$folder/b.npy"
export ANEMONE_THREADS= ANEMONE_TRACE=
gives 0 $add --input a="$folder/a.npy" --input b="$folder/b.npy"
unset ANEMONE_THREADS ANEMONE_TRACE

# Bench: words.
for number in 9 10x 0x10 "" 99999999999999999999; do
    gives 2 bench dispatch --count "$number"
    says "--count takes a number from 10 to"
done

# Standard descriptors that are closed: no file of the command takes their place.
# closed STATUS DESCRIPTORS WORDS...: the command ends with this status when these are closed
closed()
{
    wanted=$1
    which=$2
    shift 2
    rm -f "$folder/trace.json" "$folder/y.npy"
    : >"$folder/out" 2>"$folder/err"
    (
        case $which in *0*) exec <&- ;; esac
        case $which in *1*) exec >&- ;; *) exec >"$folder/out" ;; esac
        case $which in *2*) exec 2>&- ;; *) exec 2>"$folder/err" ;; esac
        exec "$anemone" "$@"
    )
    found=$?
    [ "$found" -eq "$wanted" ]
    result $? "anemone $1 ends with $wanted when $which is closed"
}

sum="--input a=$folder/a.npy --input b=$folder/b.npy --output y=$folder/y.npy"
for which in 0 1 2 01 02 12 012; do
    closed 1 $which $add --input a="$folder/absent.npy"
    closed 1 $which $add --input a="$folder/absent.npy" --trace "$folder/trace.json"
    ! grep -qs absent "$folder/trace.json"
    result $? "  the trace holds no message"
    # Results that cannot be written are a failure.
    case $which in *1*) wanted=1 ;; *) wanted=0 ;; esac
    closed $wanted $which $add $sum --trace "$folder/trace.json"
    python3 -m json.tool <"$folder/trace.json" >/dev/null 2>>"$folder/err"
    result $? "  the trace holds nothing else"
    tensor_is "$folder/y.npy" e 1,8,1,32 3.75
done

# The demo.
gives 0 demo
grep -q "state after each dispatch: 1 2 3 4" "$folder/out"
result $? "  the accumulator counts"
grep -q "the last of 11 commands is sent" "$folder/out" && grep -q "INIT_SHARED_EVENT_INFO" "$folder/out" &&
    grep -q "IPC_ENDPOINT_SET2" "$folder/out"
result $? "  the boot shows its nine commands and the binding"
grep -q "20 of 20 digits that its training has not seen are recognised" "$folder/out"
result $? "  it reads the digits"
gives 0 demo --bare
shows "result      y[0..7] ="

echo "1..$count"
[ "$failed" -eq 0 ]
