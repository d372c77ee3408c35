#!/usr/bin/env python3
"""The pipe on Apache Spark, by RDD.pipe(): `spark_pipe.py IN OUT STORE [--bin DIR]`. Needs pyspark (PyPI) and Java 17; runs where spark-submit says.

Reads JSON Lines (gzip, too) of the folder IN; writes annotated dumps and what was refused to OUT/annotated, in gzip, and one partial to
OUT/partial.jsonl. Dumps of one id within a partition count once; Spark runs a partition again that failed, and keeps the output of one run.
"""
import argparse
import os
import shlex
import subprocess
import sys

from pyspark.sql import SparkSession


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("out")
    parser.add_argument("store")
    parser.add_argument("--bin", default="", help="folder of stallsym and stallclassify")
    options = parser.parse_args()
    sym, classify = (shlex.quote(os.path.join(options.bin, name)) for name in ("stallsym", "stallclassify"))
    spark = SparkSession.builder.appName("stallkit").getOrCreate()
    lines = spark.sparkContext.textFile(options.folder)
    named = lines.pipe(f"{sym} -q -j 1 --answer-each -d {shlex.quote(options.store)} -", checkCode=True).persist()
    annotated = named.pipe(f"{classify} -j 1 --annotate --answer-each -", checkCode=True)
    annotated.saveAsTextFile(os.path.join(options.out, "annotated"), "org.apache.hadoop.io.compress.GzipCodec")
    kept = named.filter(lambda line: not line.startswith('{"format":"stall-refused/1"'))
    partials = kept.pipe(f"{classify} -j 1 --partial -", checkCode=True).collect()
    merge = [os.path.join(options.bin, "stallclassify"), "--merge", "--partial", "-"]
    with open(os.path.join(options.out, "partial.jsonl"), "wb") as f:
        subprocess.run(merge, input="".join(f"{line}\n" for line in partials).encode(), stdout=f, check=True)
    spark.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
