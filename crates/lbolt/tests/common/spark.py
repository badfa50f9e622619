# Rolls traces up on a Spark of this machine, twice into one table, and writes its rows once, in order.
import sys

sys.path.insert(0, ".")
import lbolt_spark
from pyspark.sql import SparkSession

binary, output, *traces = sys.argv[1:]
spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
for _ in range(2):
    rows = lbolt_spark.rollup(spark, traces, binary=binary, part_bytes=20_000)
    lbolt_spark.write(rows, "table")
table = spark.read.parquet("table")
once = table.dropDuplicates([*lbolt_spark.WORDS, "from_unix_ns"]).select(lbolt_spark.COLUMNS.names)
once.toPandas().to_json(output, orient="records")
lost = [row.asDict() for row in lbolt_spark.fleet(table).collect()]
spark.createDataFrame(lost, "host string, lost_ns long, lost_us2 long, from_unix_ns long, "
                      "until_unix_ns long, half_ns long").toPandas().to_json("lost.json", orient="records")
spark.stop()
