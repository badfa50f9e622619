"""lbolt on your own Spark: traces into rollups on all executors, and who lost most time.

    lbolt_spark.write(lbolt_spark.rollup(spark, ["s3://traces/web1/run1"]), "s3://fleet/rollup")
    lbolt_spark.fleet(spark.read.parquet("s3://fleet/rollup")).show()

A task is one trace, or a part of the minutes of a large one. Spark ships the static program to
the executors (addFile); the task runs `lbolt rollup` and returns Arrow. Paths are local to the
executors, or URLs that pyarrow knows (s3, gs, abfs, hdfs), copied to the executor's disk meanwhile.
Rows name their run and part, so a part that was written twice counts once. Columns: those of
docs/records.md (rollup), and `date` (UTC). Needs Spark 3.4, pandas and pyarrow.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from statistics import NormalDist

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq
from pyspark import SparkFiles, TaskContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

WORDS = """host run part level counted device operation role cgroup file_system file cause class
    model""".split()
NUMBERS = """from_unix_ns until_unix_ns count bytes failed sum_ns min_ns max_ns lost_ns
    estimated_ns lost_us2 calm_count calm_ns""".split()
LISTS = ["buckets", "counts"]
KINDS = [
    (WORDS, pa.string(), "string"),
    (NUMBERS, pa.int64(), "bigint"),
    (LISTS, pa.list_(pa.int64()), "array<bigint>"),
]
COLUMNS = pa.schema([(name, kind) for names, kind, _ in KINDS for name in names])
SCHEMA = ", ".join(f"{name} {kind}" for names, _, kind in KINDS for name in names)


def rollup(
    spark: SparkSession,
    paths: Sequence[str],
    level: str = "minute",
    binary: str | None = None,
    part_bytes: int = 256 << 20,
) -> DataFrame:
    """The rows of all traces; a trace larger than `part_bytes` is several tasks. A trace that
    cannot be read ends it with lbolt's sentence."""
    program = binary or shutil.which("lbolt") or ""
    if not os.path.isfile(program):
        raise RuntimeError("lbolt is not in PATH; give binary=, the static program")
    name = os.path.basename(program)
    spark.sparkContext.addFile(program)
    spark.sparkContext.addPyFile(__file__)
    tasks = []
    for path in paths:
        all = sum(file.size or 0 for file in _files(path)) // part_bytes + 1
        tasks += [(path, f"{part}/{all}") for part in range(1, all + 1)]
    asked = spark.sparkContext.parallelize(tasks, len(tasks) or 1).toDF("path string, part string")

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for task in batch.to_pylist():
                yield from _roll_up(SparkFiles.get(name), task["path"], task["part"], level)

    return asked.mapInArrow(run, SCHEMA)


def write(rows: DataFrame, table: str, format: str = "parquet") -> None:
    """Appends to a table by date, level and host. Spark commits all of it, or nothing."""
    seconds = F.floor(F.col("from_unix_ns") / 1_000_000_000).cast("timestamp")
    keys = ["date", "level", "host"]
    dated = rows.withColumn("date", F.to_date(seconds)).repartition(*keys)
    dated.write.format(format).mode("append").partitionBy(*keys).save(table)


def fleet(rows: DataFrame, by: str = "host") -> DataFrame:
    """Time lost by host (model, role, cause, device, …), the most first: sums of integers, and
    half of the 95 % interval, widened for the number of values that are compared."""
    once = rows.dropDuplicates([*WORDS, "from_unix_ns"])
    lost = once.where((F.col("counted") == "lost") & F.col(by).isNotNull()).groupBy(by)
    sums = lost.agg(
        F.sum("lost_ns").alias("lost_ns"),
        F.sum("lost_us2").alias("lost_us2"),
        F.min("from_unix_ns").alias("from_unix_ns"),
        F.max("until_unix_ns").alias("until_unix_ns"),
    )
    wide = 1000.0 * NormalDist().inv_cdf(1 - 0.025 / max(1, sums.count()))
    half_ns = F.sqrt(F.greatest(F.col("lost_us2"), F.lit(0))) * wide
    return sums.withColumn("half_ns", half_ns.cast("bigint")).orderBy(F.desc("lost_ns"), by)


def _system(path: str) -> tuple[pafs.FileSystem, str]:
    return pafs.FileSystem.from_uri(path) if "://" in path else (pafs.LocalFileSystem(), path)


def _files(path: str) -> list[pafs.FileInfo]:
    """A trace's files: itself, or those of the run's directory."""
    system, inner = _system(path)
    try:
        info = system.get_file_info(inner)
        found = [info] if info.is_file else system.get_file_info(pafs.FileSelector(inner))
    except OSError as error:
        raise RuntimeError(f"failed to read {path}: {error}") from error
    return [file for file in found if file.is_file]


@contextlib.contextmanager
def _local(path: str) -> Iterator[str]:
    """The trace on this machine's disk."""
    system, inner = _system(path)
    if isinstance(system, pafs.LocalFileSystem):
        yield inner
        return
    with tempfile.TemporaryDirectory() as at:
        for file in _files(path):
            pafs.copy_files(file.path, f"{at}/{file.base_name}", system, pafs.LocalFileSystem())
        yield at if len(os.listdir(at)) > 1 else os.path.join(at, os.listdir(at)[0])


def _roll_up(program: str, path: str, part: str, level: str) -> Iterator[pa.RecordBatch]:
    with _local(path) as trace, tempfile.TemporaryDirectory() as at:
        output = os.path.join(at, "rollup.parquet")
        of_part = [] if part == "1/1" else ["--part", part]
        ended = _run(program, ["rollup", "-o", output, "--level", level, *of_part, "--", trace])
        if ended.returncode != 0:
            raise RuntimeError(f"{path}: {ended.stderr.strip() or ended.returncode}")
        batches = pq.ParquetFile(output).iter_batches(columns=COLUMNS.names)
        yield from (batch.select(COLUMNS.names).cast(COLUMNS) for batch in batches)


def _run(program: str, words: list[str]) -> subprocess.CompletedProcess[str]:
    """Runs it from memory, so that folders without leave to run programs (noexec) do no harm."""
    written = os.memfd_create("lbolt", 0)
    with open(program, "rb") as file, os.fdopen(written, "wb", 0) as copy:
        shutil.copyfileobj(file, copy)
        memory = os.open(f"/proc/self/fd/{written}", os.O_RDONLY)
    line = [f"/proc/self/fd/{memory}", *words]
    own = {**os.environ, "RAYON_NUM_THREADS": str(TaskContext.get().cpus())}
    try:
        return subprocess.run(line, capture_output=True, text=True, pass_fds=[memory], env=own)
    except OSError as error:
        why = f"{error.strerror}; give binary= for {os.uname().machine}"
        raise RuntimeError(f"failed to run lbolt: {why}") from error
    finally:
        os.close(memory)
