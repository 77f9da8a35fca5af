"""Runs `ctxc batch` with PySpark, which needs Java.

    pip install pyspark
    python examples/fleet/with_spark.py paths.txt results stats
    spark-submit --master spark://host:7077 examples/fleet/with_spark.py paths.txt results stats

The list holds what `ctxc batch` reads: paths, or JSON objects with a path and options. Each worker writes its results into the
folder `results`, which is a new one. Spark gives a part that fails to another worker.
"""

import sys
from pathlib import Path

from pyspark.sql import SparkSession

# Sessions for each start of the program.
PART = 100


def main(list_of_paths, folder, *command):
    builder = SparkSession.builder.appName("ctxc batch").config("spark.ui.enabled", "false")
    # Java only passes lines on: to optimise it would take longer than that.
    builder = builder.config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1")
    context = builder.getOrCreate().sparkContext
    context.addPyFile(str(Path(__file__).with_name("batches.py")))
    with open(list_of_paths) as file:
        lines = [line for line in file.read().split("\n") if line]

    def run(part):
        from batches import results

        return results(part, command)

    parts = context.parallelize(lines, max(1, len(lines) // PART))
    parts.mapPartitions(run).saveAsTextFile(folder)


main(*sys.argv[1:])
