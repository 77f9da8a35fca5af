"""Reads what `ctxc export` writes with programs that share no code with it: DuckDB and the models of Harbor.

    pip install duckdb harbor
    python examples/export/check.py SESSION...

Each session is exported in all forms. The rows are read by DuckDB, the trajectory by Harbor (which needs Python 3.12).
"""

import json
import subprocess
import sys

import duckdb
from harbor.models.trajectories import Trajectory


def export(session, form, output):
    command = ["ctxc", "export", session, "--format", form, "-o", output, "--force", "--json"]
    return json.loads(subprocess.run(command, capture_output=True).stdout)


def main(sessions):
    done = 0
    for session in sessions:
        report = export(session, "ndjson", "rows.ndjson")
        if "error" in report:
            print(f"{session}: {report['error']['message']}")
            continue
        if report["texts"]:
            count = duckdb.sql("SELECT count(tokens) FROM 'rows.ndjson'").fetchall()[0][0]
            assert count == report["texts"], (session, count, report)
            columns = [column[0] for column in duckdb.sql("DESCRIBE SELECT * FROM 'rows.ndjson'").fetchall()]
            assert columns == ["session", "turn", "step", "role", "kind", "tool", "text", "tokens", "time"], columns
        if "error" not in export(session, "atif", "trajectory.json"):
            with open("trajectory.json") as file:
                Trajectory.model_validate_json(file.read())
        done += 1
    print(f"{done} of {len(sessions)} sessions read")


main(sys.argv[1:])
