#!/usr/bin/env python3
"""What DuckDB takes to make Parquet of a trace as CSV: the bench holds `lbolt import` to it. The columns have the types
and, in DuckDB's view, the units that the import gives them; nothing is put in order, paired or checked.

    python3 xtask/csv_to_parquet.py FORMAT TRACE OUT.parquet
"""
import sys

from with_duckdb import duckdb

INT, TEXT, SECONDS = "BIGINT", "VARCHAR", "DECIMAL(19, 9)"
# By format: its columns in the order of a line, and what becomes of them.
FORMATS = {
    "msr": (
        dict(ticks=INT, host=TEXT, disk=INT, type=TEXT, offset=INT, size=INT, response=INT),
        "host || '.' || disk AS device, lower(type) AS op, \"offset\" AS offset_bytes, size AS length_bytes, "
        "(ticks - 116444736000000000) * 100 AS queued_ns, queued_ns + response * 100 AS completed_ns",
    ),
    "systor17": (
        dict(stamp=SECONDS, response=SECONDS, type=TEXT, lun=INT, offset=INT, size=INT),
        "'lun' || lun AS device, if(type = 'R', 'read', 'write') AS op, \"offset\" AS offset_bytes, size AS length_bytes, "
        "(stamp * 1000000000)::BIGINT AS completed_ns, completed_ns - (response * 1000000000)::BIGINT AS queued_ns",
    ),
    "alibaba": (
        dict(device=TEXT, type=TEXT, offset=INT, size=INT, us=INT),
        "device, if(type = 'R', 'read', 'write') AS op, \"offset\" AS offset_bytes, size AS length_bytes, "
        "us * 1000 AS queued_ns",
    ),
    "tencent": (
        dict(s=INT, sector=INT, sectors=INT, type=INT, device=TEXT),
        "device, if(type = 0, 'read', 'write') AS op, sector * 512 AS offset_bytes, sectors * 512 AS length_bytes, "
        "s * 1000000000 AS queued_ns",
    ),
    "spc": (
        dict(device=TEXT, sector=INT, size=INT, type=TEXT, stamp=SECONDS),
        "device, if(type = 'r', 'read', 'write') AS op, sector * 512 AS offset_bytes, size AS length_bytes, "
        "(stamp * 1000000000)::BIGINT AS queued_ns",
    ),
}

name, trace, out = sys.argv[1:]
columns, values = FORMATS[name]
connection = duckdb.connect()
connection.execute("SET enable_progress_bar = false")
header = str(name == "systor17").lower()
read = f"read_csv('{trace}', columns={columns}, header={header}, auto_detect=false, delim=',')"
connection.execute(f"COPY (SELECT {values} FROM {read}) TO '{out}' (FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 1)")
