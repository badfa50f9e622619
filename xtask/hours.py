#!/usr/bin/env python3
"""What DuckDB takes for p99 by device, operation and hour over days of hours, by the views of `lbolt sql`.

    python3 xtask/hours.py LBOLT HISTORY DAYS
"""
import glob
import os
import subprocess
import sys

from with_duckdb import duckdb

lbolt, history, days = sys.argv[1:]
files = sorted(glob.glob(os.path.join(history, "*.day-of-hours.parquet")))[: int(days)]
assert len(files) == int(days), f"{len(files)} days of hours in {history}"
views = subprocess.run([lbolt, "sql", "--rollups", *files], check=True, capture_output=True, text=True).stdout
connection = duckdb.connect()
connection.execute("SET enable_progress_bar = false")
connection.execute(views)
rows = connection.execute("SELECT device, operation, hour, p99_ns FROM response_hours").fetchall()
print(len(rows), max(row[3] for row in rows))
