#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`anemone spec --json` against numbers typed from the seeds' tables. Prints TAP.

    test_spec.py ANEMONE SOURCE_ROOT

Nothing below comes from our code: a number that changes there without the seeds changing fails here. The last case renders the reference pages
again and compares.
"""
import json
import os
import re
import subprocess
import sys

CONTROL = """
0 ANE_DeviceOpen 0 104 0 104
1 ANE_DeviceClose 0 0 0 0
2 ANE_ProgramSendRequest 1 2376 0 40
3 ANE_ProgramCreate 0 32 0 0
4 ANE_ProgramPrepare 0 56 0 56
5 ANE_ProgramUnprepare 0 56 0 0
6 ANE_ProgramDestroy 0 16 0 0
7 ANE_GetStatus 0 0 0 32
8 ANE_ProgramCreateInstance 0 32 0 0
9 ANE_ProgramChainingPrepare 0 16 0 24
10 ANE_GetVersion 0 0 1 0
11 ANE_RegisterDebugWorkProcessor 0 24 0 0
12 ANE_UnregisterDebugWorkProcessor 0 0 0 0
13 ANE_GetDebugWorkProcessorItem 2 0 0 0
14 ANE_CompleteDebugWorkProcessorItem 2 0 0 0
15 ANE_ReleaseDebugWorkProcessorBuffers 0 0 0 0
16 ANE_LoadFirmware 3 0 0 0
"""

DIRECT = """
0 ANE_DeviceOpen 0 104 0 104
1 ANE_DeviceClose 0 0 0 0
2 ANE_ProgramSendRequest 1 2376 0 40
3 ANE_ProgramOutputSetEnqueue 0 40 0 0
4 ANE_ProgramInputsReady 0 3104 0 0
5 ANE_MemoryMapRequest 1 2080 1 0
6 ANE_MemoryUnMapRequest 0 2080 0 0
7 ANE_SessionHintRequest 0 16 0 24
8 ANE_ProgramChainingSetActiveProcedure 0 32 0 0
"""

# A path in the JSON and the number or word the seeds print.
VALUES = [
    ("return_codes.bad_argument", 0xE00002C2),
    ("return_codes.unsupported", 0xE00002C7),
    ("return_codes.closed", 0xE00002C5),
    ("return_codes.usage_refused", 24),
    ("task_queue.stride", 0x148),
    ("task_queue.queues", 8),
    ("task_queue.submit_words", 35),
    ("task_queue.registers", {"submit_doorbell": 0x24000, "size_count": 0x24004, "priority_network_id": 0x24008,
                              "enable": 0x25000, "status_vacancy": 0x2500C, "buffer_access_registers": 0x250A0}),
    ("task_queue.event_info.completed", 0x05000000),
    ("task_queue.event_info.network_shift", 16),
    ("scheduler.levels", 8),
    ("scheduler.system_band", [0, 1]),
    ("scheduler.application_band", [2, 7]),
    ("scheduler.weights", [1, 2, 3, 4, 5, 6, 30, 31]),
    ("scheduler.deadline_ms", 2000),
    ("scheduler.network_id_min", 1),
    ("scheduler.network_id_max", 255),
    ("scheduler.hardware_watchdog", False),
    ("dart.page_size", 16384),
    ("dart.aperture_base", 0),
    ("dart.aperture_size", 0xE0000000),
    ("dart.streams", [0, 1, 2]),
    ("dart.bypass_streams", [13, 15]),
    ("dart.stream_slots", 16),
    ("dart.isolation_contexts", 7),
    ("dart.leaf_valid_bit", 63),
    ("dart.leaf_frame_low_bit", 14),
    ("dart.leaf_frame_high_bit", 46),
    ("dart.leaf_template", 0x8000000000000000),
    ("dart.ttbr_valid_bit", 31),
    ("dart.ttbr_shift", 12),
    ("dart.ttbr_seen", 0x90022320),
    ("dart.table_seen", 0x10022320000),
    ("dart.levels", 2),
    ("dart.error_flag_bit", 31),
    ("dart.node.compatible", "dart,t6000"),
    ("dart.node.stream_enable", 0xA001),
    ("dart.node.bypass", 0xA000),
    ("dart.node.stream_count", 16),
    ("dart.node.options", 0x25),
    ("dart.node.config", 0x80000025),
    ("dart.window_size", 16384),
    ("usage_codes", {"1": 3, "2": 1, "7": 3, "8": 3, "9": 3, "11": 3, "4121": "firmware class", "4122": "firmware class"}),
    ("limits.custom_bars", 32),
    ("limits.signal_events", 16),
    ("limits.custom_execute_order", 128),
    ("limits.output_buffer_sets", 1),
    ("limits.event_masks", 1),
    ("limits.trigger_input_buffers", 16),
    ("limits.active_shared_events", 2),
    ("limits.programs", 144),
    ("limits.processes", 288),
    ("limits.requests_in_flight_per_pool", 127),
    ("limits.doorbell_index", 32),
    ("limits.back_channel_payload", 0x800000),
    ("limits.back_channel_magic", 0x55AA55AA),
    ("limits.cache_request_partitions", 1),
    ("limits.cache_requests_in_list", 1),
    ("limits.custom_bars_in_program", 128),
    ("limits.event_record_bytes", 24),
    ("limits.rpc_events_free_min", 2),
    ("limits.program_table_offset", 0x9948),
    ("limits.program_table_stride", 0x20),
    ("stats.header", 0x28),
    ("stats.event", 0x14),
    ("stats.debug_event", 0x10),
    ("stats.engine", 0x20),
    ("stats.magic", 0x0101),
    ("stats.engines_max", 32),
    ("stats.engine_stride", 0x48),
    ("stats.counter_quad", 16),
    ("stats.counter_quad_offset", 0x30),
    ("stats.power_status_base", 0x28E08C000),
    ("stats.power_status_stride", 8),
    ("stats.power_status_entries", 5),
    ("commands.invalid", 0xFFFFFFFF),
    ("device", {"architecture": "h13g", "version": 96, "minor_version": 17, "board_type": 96, "board_subtype": 0, "cores": 16,
                "engines": 1, "cpu_subtype": 4, "internal_build": False}),
    ("boot.endpoint", 0xE400),
    ("execution.core", "CHINOOK"),
    ("execution.hardware_threads", 11),
    ("fabric.register", "S3_3_C15_C8_0"),
    ("fabric.gpu_doorbell", 0x206468000),
    ("fabric.access_sites", 28),
    ("fabric.doorbell_targets", 3),
    ("abi.sizes.device_info", 104),
    ("abi.sizes.request", 2376),
    ("abi.sizes.request_reply", 40),
    ("abi.dispatch_stride", 40),
    ("abi.device_info_values", {"board_id": 0x1111222233334444, "timeout_ms": 10000, "version": 32, "version_high": 256,
                                "engines": 1, "cpu_subtype": 4}),
    ("abi.request_values", {"priority": 5, "qos": 21, "category": 2}),
    ("driver.build", "9.511.3"),
    ("addressing.firmware_usage_flag", 0x1000),
    ("addressing.segment_bytes", 0x28),
    ("addressing.rebase_object", 0xA000),
    ("addressing.rebase_high_half", 0x1BC4),
    ("addressing.rebase_bar_base", 0x285C25020),
    ("addressing.rebase_bar_stride", 0x148),
    ("addressing.rebase_record_bytes", 44),
    ("addressing.fault_status_offset", 0xE028),
    ("addressing.fault_status_benign", 0xA0),
    ("dispatch.whole_us", 190),
    ("dispatch.submit_us", 163),
    ("dispatch.overhead_percent", 98),
    ("dispatch.two_threads_percent", 104),
    ("messages.header_bytes", 24),
    ("descriptor.image_magic", 0xBEEFFACE),
    ("descriptor.counts.the_same_with_array_elements", 258),
]

# A path to an array of rows, a column, and that column from top to bottom.
COLUMNS = [
    ("apertures", "name", "ANE PS PWGATE PTD ANEHAL1 ANEHAL2 ANEHAL3".split()),
    ("task_states", "name", "RUNNABLE SUSPENDED WAITING SEMWAIT BLOCKED".split()),
    ("execution_states", "name", "INIT RUN EXEC EXEC-SECURE PAUSE".split()),
    ("execution_states", "number", [0, 1, 2, 3, "transient"]),
    ("exeloop", "id", [0x2D, 0x204, 0x209, 0x20A, 0x20C, 0x211, 0x212, 0x404, 0xFF00]),
    ("exeloop", "vtable", ["+0x250", "+0x200", "+0x218", "cache path", "+0x208 region", "events path", "+0x210", "+0x190",
                           "func 0x47818"]),
    ("handshakes", "order", [1, 2, 3]),
    ("handshakes", "register", ["scratch 7, first wake", "scratch 7, second wake", "scratch 3, plus a magic-number-1 check"]),
    ("boot_commands", "purpose", ["print-enable", "start", "performance-monitoring-unit base set", "host-to-engine time synchronization",
                                  "channel-property write", "resource-information query", "default-setting write",
                                  "memory-cache power-on", "shared-event-information initialization"]),
    ("commands.dispatched", "id", list(range(0x00, 0x5D))),
    ("commands.wire", "id", [0] + list(range(0x01, 0x35)) + list(range(0x100, 0x109)) + list(range(0x200, 0x213))
     + list(range(0x300, 0x306)) + list(range(0x400, 0x405)) + [0x7000, 0xFF00]),
    ("commands.families", "count", [52, 9, 19, 6, 5, 3]),
    ("fabric.bits", "bit", [0, 1, 2, 4, 7, 39]),
    ("stats.fields", "offset", [0x00, 0x04, 0x0C, 0x10, 0x18, 0x1C, 0x24]),
    ("stats.fields", "bytes", [2, 8, 4, 8, 4, 8, 4]),
    # One behind the other: the parts of a record have no gaps, and the sizes of the size query.
    ("stats.engine_fields", "offset", [0, 4, 8, 12, 0x10, 0x14, 0x18, 0x1C]),
    ("stats.engine_fields", "bytes", [4] * 8),
    ("stats.totals_fields", "offset", [0, 4, 8]),
    ("stats.event_fields", "offset", [0, 2, 4, 12]),
    ("stats.event_fields", "bytes", [2, 2, 8, 8]),
    ("stats.debug_fields", "offset", [0, 2, 4, 8]),
    ("stats.debug_fields", "bytes", [2, 2, 4, 8]),
    ("messages.header", "field", ["id", "size", "priority", "programId", "processId", "procedureId"]),
    ("messages.header", "offset", [0x00, 0x04, 0x08, 0x0C, 0x10, 0x14]),
    ("messages.call", "field", ["nbrOfOutputBufferSets", "nbrOfWaitEvents", "nbrOfSignalEvents", "nbrOfCustomBars", "stats.buffer",
                                "stats.size"]),
    ("messages.container_sections", "name", ["generic", "kernel", "text", "operation", "procedure", "rebase", "custom bars"]),
    ("abi.external_method_arguments", "offset", [0x08, 0x10, 0x20, 0x30, 0x38, 0x48, 0x50, 0x58, 0x60]),
    ("power.word", "lowest_bit", [0, 4, 8, 9, 10, 11, 16, 24, 28, 31]),
    ("power.word", "bits", [4, 4, 1, 1, 1, 1, 4, 4, 1, 1]),
    ("abi.device_info", "offset", [0x00, 0x08, 0x10, 0x18, 0x48, 0x50, 0x60]),
    ("abi.dispatch_record", "offset", [0x00, 0x08, 0x0C, 0x10, 0x14, 0x18]),
    ("driver.kexts", "bundle", ["AppleH11ANEInterface", "AppleT8132ANEHAL", "AppleANELoadBalancer"]),
    ("driver.clients", "class", ["H11ANEInUserClient", "H11ANEInDirectPathClient", "ANEClientHints"]),
    ("addressing.usage_roles", "code", [1, 2, 7, 8, 9, 11, 0x1019, 0x101A]),
    ("addressing.load_buffers", "usage", [1, 2, 8, 9, 11, 7, 9, 4121, 4122]),
    ("addressing.spaces", "space", ["A", "B", "C"]),
    ("addressing.segment", "offset", [0x00, 0x08, 0x10, 0x18, 0x20]),
    ("addressing.rebase", "offset", [0xB98, 0xBA0, 0xBA8]),
    ("addressing.alignments", "bytes", [16, 256, 16384]),
    ("addressing.error_info", "offset", [0x00, 0x08, 0x10, 0x18, 0x20, 0x28, 0x30, 0x40, 0x50, 0x58, 0x90]),
    ("dart.leaf", "high_bit", [63, 62, 60, 59, 46, 13]),
    ("dart.leaf", "low_bit", [63, 62, 60, 59, 14, 0]),
    ("dispatch.budget", "us_low", [25, 16, 2, 130, 10]),
    ("dispatch.budget", "us_high", [25, 16, 3, 130, 10]),
]

# How many rows an array has.
COUNTS = [("selectors.control", 17), ("selectors.direct", 9), ("channels", 8), ("commands.dispatched", 93), ("commands.wire", 94),
          ("exeloop", 9), ("driver.methods", 13), ("entitlements", 17), ("execution.events", 4), ("execution.machines", 3),
          ("faults.dispositions", 4), ("faults.exception_classes", 4), ("dispatch.representations", 3)]

CHANNELS = {"SHAREDMALLOC", "TERMINAL", "BUF_H2T", "BUF_T2H", "IO", "IO_T2H", "DEBUG", "DATA_CHAIN_H2T"}
# Windows of the controller: the low halves as the device tree prints them.
WINDOWS = [0x85800000, 0x85810000, 0x85820000, 0x85804000]
DART_OFFSETS = {0x40, 0x50, 0x54, 0xFC, 0x100, 0x200, 0x1000, 0x100C, 0x1020, 0x1028}
DISPATCHED = {0x1E: "CH_PROPERTY_WRITE", 0x1F: "CH_PROPERTY_READ", 0x41: "PROCEDURE_CALL",
              0x45: "PROCEDURE_CALL_CACHE_REQUEST", 0x46: "PROCEDURE_CALL_TRIGGER_CACHE_REQUEST",
              0x47: "PROCEDURE_CALL_RECYCLE_OUTPUT_BUFFER", 0x48: "PROCEDURE_CALL_INVALIDATE_CACHE_REQUEST", 0x4A: "PREMAP_BUFFER",
              0x4D: "FORCE_DISABLE_CACHE_REQUESTS", 0x4F: "SET_ACTIVE_CACHE_REQUEST_IN_GROUP", 0x5A: "INFERENCE_CALL", 0x5B: "BACK_CHANNEL_RPC"}
EXELOOP = {0x2D: "CH_DATA_FILE_LOAD2", 0x404: "RETURN_PROCESS_ID", 0xFF00: "BACK_CHANNEL_RPC"}
WIRE = {0x7000: "INFERENCE_CALL", 0xFF00: "BACK_CHANNEL_RPC", 0x0000: "DEBUG_COMMAND_DATA_CHECK", 0x404: "RETURN_PROCESS_ID"}
KINDS = (("selectors.control.struct_in", "number"), ("dart.registers.offset", "hex"), ("messages.container_sections.mandatory", "bool"),
         ("abi.request.meaning", "text"), ("dart.streams", "number"), ("dart.windows", "hex"))


def at(spec, path):
    for name in path.split("."):
        spec = spec[name]
    return spec


def selectors(text):
    keys = ("selector", "name", "scalar_in", "struct_in", "scalar_out", "struct_out")
    rows = []
    for line in text.split("\n"):
        words = line.split()
        if words:
            rows.append({key: word if key == "name" else int(word) for key, word in zip(keys, words)})
    return rows


def by_id(rows):
    return {row["id"]: row["name"] for row in rows}


def check_directions(spec):
    directions = [row["direction"] for row in spec["commands"]["dispatched"]]
    assert directions.count("FW>H") == 14, directions.count("FW>H")
    assert directions.count("both") == 1
    assert directions.count("H>FW") == 78
    assert spec["commands"]["dispatched"][0x5B]["direction"] == "both"


def check_names(spec):
    for table, wanted in (("dispatched", DISPATCHED), ("wire", WIRE)):
        names = by_id(spec["commands"][table])
        for number, name in wanted.items():
            assert names[number] == name, (table, hex(number), names[number], name)
    names = by_id(spec["exeloop"])
    for number, name in EXELOOP.items():
        assert names[number] == name, (hex(number), names[number], name)
    assert all(row["corrected_name"] for row in spec["commands"]["wire"])


def check_families(spec):
    wire = spec["commands"]["wire"]
    for family in spec["commands"]["families"]:
        members = [row for row in wire if row["family"] == family["family"]]
        assert len(members) == family["count"], family


def check_dart(spec):
    assert [window & 0xFFFFFFFF for window in spec["dart"]["windows"]] == WINDOWS
    missing = DART_OFFSETS - {row["offset"] for row in spec["dart"]["registers"]}
    assert not missing, missing


def check_request(spec):
    offsets = {row["field"]: row["offset"] for row in spec["abi"]["request"]}
    wanted = {"token": 0x000, "sequence": 0x008, "priority": 0x010, "category": 0x01C, "surface": 0x020}
    assert {key: offsets[key] for key in wanted} == wanted
    reply = {row["field"]: row["offset"] for row in spec["abi"]["request_reply"]}
    assert (reply["sequence"], reply["token"], reply["status"]) == (0, 8, 0x20)


def check_descriptor(spec):
    """Every field says what it means, where that is from and what is done with it; the counts are those of the rows."""
    rows = spec["descriptor"]["header_fields"] + spec["descriptor"]["fields"]
    for row in rows:
        assert row["meaning"].endswith(".") and row["action"], row
        assert re.match(r"(engine|oracles) [1-4]\.[0-9]+ [ABCDU]$|ours$", row["meaning_source"]), row
        assert (row["use"] == "refused") <= bool(row["accepted"]), row
    counts = spec["descriptor"]["counts"]
    assert counts["fields"] == len(rows)
    for use in ("decoded", "hint", "opaque", "refused", "chosen"):
        assert counts[use] == sum(row["use"] == use for row in rows), use
    assert len(spec["descriptor"]["restrictions"]) == sum(bool(row["accepted"]) for row in rows)


def check_sections_alone(spec, command):
    for name in spec:
        if name == "version":
            continue
        alone = json.loads(subprocess.run([command, "spec", name, "--json"], check=True, capture_output=True).stdout)
        assert alone == {"version": spec["version"], name: spec[name]}, name
        text = subprocess.run([command, "spec", name], check=True, capture_output=True, text=True).stdout
        assert f"\n{name}\n" in text, name


def check_kinds(value, kinds, path):
    """Every value has a kind, every kind a value, and the value is of that kind."""
    types = {"text": str, "number": int, "hex": int, "bool": bool}
    if isinstance(value, dict):
        assert list(value) == list(kinds), path
        for name, item in value.items():
            check_kinds(item, kinds[name], f"{path}.{name}")
    elif isinstance(value, list):
        for item in value:
            check_kinds(item, kinds, path)
    elif value != "transient":  # the one word in a column of numbers
        assert type(value) is types[kinds], f"{path}: {value!r} is not of kind {kinds}"  # a bool is an int as well


def check_shown(spec, command):
    """Text shows a number in base 16 where its kind is hex, and only there."""
    for path in ("dart.window_size", "dart.levels", "stats.magic", "limits.ports"):
        section, name = path.split(".")
        kind = at(json.loads(subprocess.run([command, "spec", section, "--kinds"], check=True, capture_output=True).stdout), path)
        text = subprocess.run([command, "spec", section], check=True, capture_output=True, text=True).stdout
        shown = re.search(rf"^  {name} +(\S+)$", text, re.MULTILINE)
        assert shown and shown[1] == format(at(spec, path), "#x" if kind == "hex" else "d"), path


def check_pages(command, root):
    script = os.path.join(root, "scripts", "render-docs")
    run = subprocess.run([sys.executable, script, "--check", command], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr.strip()


def main():
    command, root = sys.argv[1], sys.argv[2]
    spec = json.loads(subprocess.run([command, "spec", "--json"], check=True, capture_output=True).stdout)
    kinds = json.loads(subprocess.run([command, "spec", "--kinds"], check=True, capture_output=True).stdout)
    cases = [("control selectors", lambda: expect(spec["selectors"]["control"], selectors(CONTROL))),
             ("direct selectors", lambda: expect(spec["selectors"]["direct"], selectors(DIRECT)))]
    for path, value in VALUES:
        cases.append((path, lambda path=path, value=value: expect(at(spec, path), value)))
    for path, column, values in COLUMNS:
        cases.append((f"{path}: {column}",
                      lambda path=path, column=column, values=values: expect([row[column] for row in at(spec, path)], values)))
    for path, count in COUNTS:
        cases.append((f"rows of {path}", lambda path=path, count=count: expect(len(at(spec, path)), count)))
    cases += [("channels", lambda: expect({row["name"] for row in spec["channels"]}, CHANNELS)),
              ("directions", lambda: check_directions(spec)),
              ("names of commands", lambda: check_names(spec)),
              ("families hold their counts", lambda: check_families(spec)),
              ("dart windows and offsets", lambda: check_dart(spec)),
              ("request fields", lambda: check_request(spec)),
              ("descriptor fields are explained", lambda: check_descriptor(spec)),
              ("kinds of all values", lambda: check_kinds(spec, kinds, "spec")),
              ("kinds as the seeds print them", lambda: expect([at(kinds, path) for path, _ in KINDS], [kind for _, kind in KINDS])),
              ("numbers as text shows them", lambda: check_shown(spec, command)),
              ("each section alone, in both forms", lambda: check_sections_alone(spec, command)),
              ("the reference pages are up to date", lambda: check_pages(command, root))]
    print(f"1..{len(cases)}")
    failed = False
    for number, (name, case) in enumerate(cases, 1):
        try:
            case()
            print(f"ok {number} - {name}")
        except (AssertionError, KeyError, TypeError, subprocess.CalledProcessError) as problem:
            failed = True
            print(f"not ok {number} - {name}")
            for line in f"{type(problem).__name__}: {problem}".split("\n"):
                print(f"# {line}")
    return 1 if failed else 0


def expect(found, wanted):
    assert found == wanted, f"found {found}, the seeds say {wanted}"


if __name__ == "__main__":
    sys.exit(main())
