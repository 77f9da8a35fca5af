"""Runs `ctxc batch` with Ray Data.

    pip install 'ray[data]'
    python examples/fleet/with_ray.py paths.txt stats > results.ndjson

The list holds what `ctxc batch` reads: paths, or JSON objects with a path and options. Without a cluster (RAY_ADDRESS) Ray
starts one on this machine.
"""

import sys

import ray

from batches import results

# Sessions for each start of the program.
PART = 100


def main(list_of_paths, *command):
    ray.init(log_to_driver=False, logging_level="WARNING")
    with open(list_of_paths) as file:
        lines = file.read().split("\n")
    items = ray.data.from_items([{"line": line} for line in lines if line])

    def run(part):
        return {"result": results(part["line"], command)}

    for row in items.map_batches(run, batch_size=PART).iter_rows():
        print(row["result"])


main(*sys.argv[1:])
