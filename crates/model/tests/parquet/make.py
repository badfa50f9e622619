"""The files of this folder: requests as other programs write them. Run with pyarrow: python3 make.py

The rows are those of tests/foreign.rs, by the same rules.
"""

import os
import pyarrow as pa
import pyarrow.parquet as pq

ROWS = 60
OPS = ["read", "write", "flush", "discard", "other"]
COMMANDS = ["dd", "fio", "postgres"]


def row(n):
    is_flush = n % 5 == 2
    return {
        "request_id": n,
        "device": (259 if n % 2 else 8) << 20,
        "op": OPS[n % 5],
        "flags": n % 16,
        "offset_bytes": None if is_flush else n * 4096,
        "length_bytes": 0 if is_flush else 4096,
        "queued_ns": None if n % 7 == 3 else 1000 * n,
        "started_ns": 1000 * n + 10,
        "issued_ns": 1000 * n + 30,
        "completed_ns": None if n % 11 == 5 else 1000 * n + 500 + n,
        "error": 5 if n % 50 == 49 else 0,
        "cpu": n % 4,
        "pid": 100 + n % 3,
        "cgroup": None,
        "command": None if n % 13 == 0 else COMMANDS[n % 3],
        "parent_id": n - 1 if n % 20 == 19 else None,
    }


OURS = pa.schema([
    pa.field("request_id", pa.uint64(), False),
    pa.field("device", pa.uint32(), False),
    pa.field("op", pa.dictionary(pa.int32(), pa.string()), False),
    pa.field("flags", pa.uint16(), False),
    ("offset_bytes", pa.uint64()),
    pa.field("length_bytes", pa.uint32(), False),
    ("queued_ns", pa.int64()),
    ("started_ns", pa.int64()),
    ("issued_ns", pa.int64()),
    ("completed_ns", pa.int64()),
    pa.field("error", pa.int32(), False),
    ("cpu", pa.uint16()),
    ("pid", pa.uint32()),
    ("cgroup", pa.uint64()),
    ("command", pa.dictionary(pa.int32(), pa.string())),
    ("parent_id", pa.uint64()),
])

# What Spark makes of it: no unsigned numbers, everything nullable, texts without a dictionary's type.
OF_SPARK = {
    pa.uint64(): pa.decimal128(20, 0),
    pa.uint32(): pa.int64(),
    pa.uint16(): pa.int32(),
    pa.dictionary(pa.int32(), pa.string()): pa.string(),
}
# What pandas makes of numbers where some are missing.
OF_PANDAS = {pa.uint64(): pa.float64(), pa.int64(): pa.float64(), pa.uint32(): pa.float64()}


def retyped(table, types, is_it=lambda field: True):
    fields = [
        pa.field(f.name, types.get(f.type, f.type) if is_it(f) else f.type) for f in table.schema
    ]
    # By way of Python's own numbers, for there is no cast from every type to every other.
    return pa.Table.from_pylist(table.to_pylist(), schema=pa.schema(fields))


def main():
    os.chdir(os.path.dirname(os.path.abspath(__file__)))
    ours = pa.Table.from_pylist([row(n) for n in range(ROWS)], schema=OURS)
    for codec in ["none", "snappy", "gzip", "lz4", "zstd"]:
        pq.write_table(ours, f"{codec}.parquet", compression=codec, store_schema=False)
    pq.write_table(ours, "default.parquet")
    spark = retyped(ours, OF_SPARK)
    spark = spark.select(sorted(spark.column_names))
    pq.write_table(spark, "spark.parquet", store_schema=False, write_statistics=False,
                   row_group_size=25, use_dictionary=True)
    pandas = retyped(ours, OF_PANDAS, lambda field: field.nullable)
    pq.write_table(pandas, "pandas.parquet", row_group_size=40)
    plain = retyped(ours, {pa.dictionary(pa.int32(), pa.string()): pa.string()})
    for name in ["DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY"]:
        texts = {"op": name, "command": name, "queued_ns": "DELTA_BINARY_PACKED"}
        pq.write_table(plain, f"{name.lower()}.parquet", compression="none", use_dictionary=False,
                       column_encoding=texts, data_page_version="2.0", store_schema=False)
    pq.write_table(ours, "checksums.parquet", write_page_checksum=True, compression="none",
                   store_schema=False)
    pq.write_table(ours, "brotli.parquet", compression="brotli", store_schema=False)
    # A column without a value has no type of its own, and rows may all be filtered out.
    nulls = ours.drop_columns(["cgroup"]).append_column("cgroup", pa.nulls(ROWS))
    nulls = nulls.append_column("file_kind", pa.nulls(ROWS))
    nulls = nulls.append_column("above_id", pa.nulls(ROWS, pa.string()))
    pq.write_table(nulls, "all_null.parquet")
    pq.write_table(nulls.slice(0, 0), "empty.parquet")


main()
