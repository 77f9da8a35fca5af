"""What a digest of a masked tool result tells of its outcome (K-04). Labels come from the patterns below, which share
nothing with the program, and from a file of corrections made by hand.

    CTXC_CORPUS=FOLDER python3 benches/keep/digests.py [--labels FILE] [--show KIND]
"""

import hashlib
import json
import os
import re
import sys
import tempfile
from pathlib import Path

from ctxc import run, write

N_RESULTS = 200
SHORTEST = 200  # characters: of less, nothing is masked
KINDS = ["exit", "counts", "failed", "error", "place", "done", "hits"]


def results(folder):
    """Every tool result below `folder`: the name and the input of the call, and the text; equal texts once."""
    seen = set()
    for path in sorted(Path(folder).rglob("*.jsonl")):
        calls = {}
        for line in path.read_text(errors="replace").splitlines():
            try:
                content = json.loads(line)["message"]["content"]
            except (ValueError, KeyError, TypeError):
                continue
            for block in content if isinstance(content, list) else []:
                if not isinstance(block, dict):
                    continue
                if block.get("type") == "tool_use":
                    calls[block.get("id")] = (block.get("name"), block.get("input"))
                if block.get("type") != "tool_result":
                    continue
                text = block.get("content")
                if isinstance(text, list):
                    text = "\n".join(part.get("text", "") for part in text if isinstance(part, dict))
                if isinstance(text, str) and len(text) >= SHORTEST and text not in seen:
                    seen.add(text)
                    yield *calls.get(block.get("tool_use_id"), ("Bash", {})), text


def plain(text):
    text = re.sub(r"<(system-reminder)>.*?</\1>", "", text, flags=re.S)
    return re.sub(r"\x1b\[[\d;?]*[a-zA-Z]", "", text)


def sums(pattern, lines):
    found = [int(n) for line in lines for n in re.findall(pattern, line)]
    return sum(found) if found else None


def label(name, text):
    """What a reader would want to know of the outcome: a value for each kind that the result has."""
    lines = [line.strip() for line in plain(text).splitlines() if line.strip()]
    if not lines:
        return {}
    if name in ("Edit", "Write", "MultiEdit"):
        return {"done": True} if re.search(r"has been (updated|created)|created successfully|^Applied \d+ edit", lines[0]) else {}
    if name in ("Grep", "Glob"):
        return {"hits": len(lines)} if len(lines) > 2 and all(re.match(r"[\w./@~-]+[./]", line) for line in lines) else {}
    if name not in ("Bash", "BashOutput", "Task", "TaskOutput"):
        return {}
    found = {}
    if status := re.match(r"(?:Error: )?Exit code (\d+)", lines[0]):
        found["exit"] = int(status[1])
    # The last line of a run of tests tells its sums; a test binary has one each.
    if name.startswith("Task"):
        runs = [line for line in lines if re.match(r"\W*(Total|Summary)\W", line)]
        counts = [sums(r"(\d+) (?:tests? )?pass", runs), sums(r"(\d+) (?:tests? )?failed", runs)]
        return {"counts": counts} if any(n is not None for n in counts) else {}
    runs = [line for line in lines if re.match(r"test result:|Tests:|Tests  |=+ .* in [\d.]+s|\d+ (passed|failed|passing|failing|pass|fail)\b|Ran \d+ test|FAILED \(", line)]
    counts = [sums(r"(\d+) (?:tests? )?pass(?:ed|ing)?\b", runs), sums(r"(\d+) (?:tests? )?fail(?:ed|ing)?\b", runs)]
    if any(n is not None for n in counts):
        found["counts"] = counts
    failed = re.findall(r"^\s*(?:--- FAIL: (\S+)|test (\S+) \.\.\. FAILED|FAILED (\S+::\S+)|(\S+::\S+) FAILED)", plain(text), flags=re.M)
    if failed:
        found["failed"] = [next(filter(None, names)) for names in failed][:1]
    exceptions = [line for line in lines if re.match(r"[\w.]*(Error|Exception|Interrupt)(: |$)|thread '.*' panicked", line)]
    other = [line for line in lines[1:] if re.match(r"(?i)(fatal|error)\b[^:]{0,20}: |.*: (command not found|no such file)", line)]
    if found.get("exit") and (exceptions or other):
        found["error"] = (exceptions or other)[-1]
    places = [line for line in lines if re.match(r"[\w./-]+\.\w{1,4}[:(]\d+[:,]\d+\)?:? ?-? *(error|warning)?", line)]
    if found.get("exit") and places:
        found["place"] = re.match(r"[\w./-]+\.\w{1,4}[:(]\d+", places[0])[0]
    return found


def is_told(kind, value, digest):
    """Whether `digest` tells `value`."""
    flat = " ".join(digest.split())
    if kind == "exit":
        return bool(re.search(rf"(?i)exit code {value}\b", flat))
    if kind == "counts":
        return all(n is None or re.search(rf"\b{n} (tests? )?{what}", flat) for n, what in zip(value, ["pass", "fail"]))
    if kind == "failed":
        return all(name in flat for name in value)
    if kind == "done":
        return flat.startswith("ok")
    if kind == "hits":
        return bool(re.match(rf"{value:,} (lines|files?)\b", flat))
    words = value.split()
    head = " ".join(words)[:60]
    return head in flat


def sample(found):
    """Those with an outcome, and as many others, in a random order that is the same every time."""
    found = sorted(found, key=lambda result: hashlib.sha256(result[2].encode()).digest())
    told = [result for result in found if {"exit", "counts", "failed", "error"} & set(label(result[0], result[2]))]
    done = [result for result in found if {"done", "hits"} & set(label(result[0], result[2]))]
    return (told[: N_RESULTS * 3 // 4] + done)[:N_RESULTS]


def session(path, chosen):
    """A session of one step for each result."""
    entries, parent = [], None

    def add(role, content):
        nonlocal parent
        at = len(entries)
        entry = {"parentUuid": parent, "type": role, "uuid": f"00000000-0000-4000-8000-{at:012}", "sessionId": "s",
                 "timestamp": f"2026-01-01T{at // 3600:02}:{at // 60 % 60:02}:{at % 60:02}.000Z",
                 "message": {"role": role, "content": content}}
        if role == "assistant":
            entry["message"] |= {"id": f"msg_{at}", "type": "message"}
        entries.append(entry)
        parent = entry["uuid"]

    add("user", "Go on.")
    for at, (name, given, text) in enumerate(chosen):
        add("assistant", [{"type": "tool_use", "id": f"toolu_{at}", "name": name, "input": given or {}}])
        add("user", [{"type": "tool_result", "tool_use_id": f"toolu_{at}", "content": text}])
    add("assistant", [{"type": "text", "text": "Done."}])
    write(path, entries)


def digests(path):
    """The digest of each result that was masked, by the number of the result."""
    found = {}
    for line in Path(path).read_text().splitlines():
        content = json.loads(line).get("message", {}).get("content")
        for block in content if isinstance(content, list) else []:
            text = block.get("content")
            if block.get("type") == "tool_result" and isinstance(text, str) and text.startswith("[ctxc: "):
                head, _, digest = text.partition("\n")
                found[int(block["tool_use_id"][6:])] = digest
    return found


def main():
    options = dict(zip(sys.argv[1::2], sys.argv[2::2]))
    chosen = sample(results(os.environ["CTXC_CORPUS"]))
    corrections = json.loads(Path(options["--labels"]).read_text()) if "--labels" in options else {}
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "in.jsonl"), Path(folder, "out.jsonl")
        session(source, chosen)
        run("prune", source, "--rules", "url", "--mask", "0", "--protect-steps", "0", "--protect-turns", "0", "-o", target, archive="memory:")
        masked = digests(target)
    kept = {kind: [0, 0] for kind in KINDS}
    saved_little = 0
    for at, (name, _, text) in enumerate(chosen):
        key = hashlib.sha256(text.encode()).hexdigest()[:12]
        labels = label(name, text) | corrections.get(key, {})
        digest = masked.get(at)
        if digest is None:
            continue
        saved_little += len(text) - len(digest) < 4 * 30
        for kind, value in labels.items():
            if value is None:
                continue
            told = is_told(kind, value, digest)
            kept[kind][0] += told
            kept[kind][1] += 1
            if options.get("--show") in (kind, "all") and (not told or options["--show"] == "all"):
                print(f"=== {at} {key} {name} {kind}: {value!r}\n{digest}\n")
    print(f"{len(chosen)} results, {len(masked)} masked, {saved_little} of them for less than 30 tokens\n\n| told | of | |\n|---|--:|--:|")
    for kind, (told, total) in kept.items():
        if total:
            print(f"| {kind} | {total} | {100 * told / total:.0f} % |")


if __name__ == "__main__":
    main()
