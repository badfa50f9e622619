"""DuckDB for the bench's scripts: this Python's own, or else that of `make bench`, which the script then runs in."""
import os
import sys

try:
    import duckdb
except ImportError:
    # The one that `make bench` sets up.
    ours = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../target/python/bin/python3")
    if os.path.realpath(sys.executable) == os.path.realpath(ours) and sys.prefix != sys.base_prefix:
        raise
    os.execv(ours, [ours, *sys.argv])
