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
    ray.init(include_dashboard=False, log_to_driver=False, logging_level="WARNING")
    with open(list_of_paths) as file:
        items = [{"line": line} for line in file.read().split("\n") if line]
    parts = ray.data.from_items(items, override_num_blocks=max(1, len(items) // PART))

    def run(part):
        return {"result": results(part["line"], command)}

    for row in parts.map_batches(run, batch_size=None).iter_rows():
        print(row["result"])


main(*sys.argv[1:])
