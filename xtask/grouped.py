#!/usr/bin/env python3
"""What DuckDB takes for requests by device and operation, with an exact p99: the bench holds `lbolt response` to it.

    python3 xtask/grouped.py requests.parquet
"""
import sys

from with_duckdb import duckdb

connection = duckdb.connect()
connection.execute("SET enable_progress_bar = false")
rows = connection.execute(
    "SELECT device, op, COUNT(*), AVG(completed_ns - queued_ns), quantile_disc(completed_ns - queued_ns, 0.99) "
    "FROM read_parquet(?) GROUP BY device, op ORDER BY device, op",
    [sys.argv[1]],
).fetchall()
for row in rows:
    print(*row)
