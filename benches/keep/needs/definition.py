"""What an agent needs of the earlier part of a session: the facts that it writes later and can know from nowhere else (K-09).

A cut divides the active messages of a session. A fact is a URL, path, name, flag, hash or number in visible text: prompts, answers,
results, and the values of tool inputs. A need is a fact that the agent writes after the cut, that occurs before it, and that nothing
after the cut has named before the agent writes it. Facts in more than 30 % of the messages before the cut, and those in sessions of
three or more projects, are no needs. A need is old if the newest fifth of the text before the cut does not have it.
"""

import collections
import json
import os
from pathlib import Path
import re

FACT = re.compile(
    r"""
    https?://[^\s"'<>)\]`|]+
  | (?:~|\.{1,2})?/?(?:[\w.@+-]+/)+[\w.@+-]+ | (?<![\w/])/[A-Za-z_.][\w.-]{2,}
  | \b\w[\w-]*\.(?:rs|py|js|jsx|ts|tsx|mjs|json|jsonl|toml|ya?ml|md|txt|go|java|c|h|cpp|sh|rb|php|sql|html|css|lock|env|cfg|ini|swift|kt|ex|proto|log)\b
  | (?<![\w-])--[a-z][\w-]+
  | \b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}\b
  | \b[A-Za-z_]\w*(?:(?:::|\.)[A-Za-z_]\w*)+ | \b_*[A-Za-z][A-Za-z0-9]*(?:_+[A-Za-z0-9]+)+\b
  | \b[a-z][a-z0-9]*(?:[A-Z][A-Za-z0-9]*)+\b | \b[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]*)+\b
  | \b[A-Za-z]+-\d[\w-]*\b | (?<![\w.])\d{3,}(?:\.\d+)*(?![\w])
""",
    re.X,
)
WORD = re.compile(r"[^\W_]{3,}")


def facts(text):
    names = (found.group(0).rstrip(".,:;-/") for found in FACT.finditer(text))
    return {name for name in names if 3 <= len(name) <= 160}


def entries(path):
    found = []
    for line in open(path, encoding="utf-8", errors="surrogateescape"):
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if isinstance(entry, dict):
            found.append(entry)
    return found


def message(entry):
    found = entry.get("message")
    return found if isinstance(found, dict) else {}


def blocks(entry):
    content = message(entry).get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [block for block in content or [] if isinstance(block, dict)]


def active(all_entries):
    """The messages from the newest back to the root or the last compaction, with the parallel calls of their replies."""
    by_uuid = {entry["uuid"]: entry for entry in all_entries if entry.get("uuid")}
    talk = [entry for entry in by_uuid.values() if entry.get("type") in ("user", "assistant") and not entry.get("isSidechain")]
    live, at = {}, talk[-1] if talk else None
    while at and at["uuid"] not in live:
        live[at["uuid"]] = at
        if at.get("subtype") == "compact_boundary":
            break
        at = by_uuid.get(at.get("parentUuid"))
    replies = {message(entry).get("id") for entry in live.values() if entry.get("type") == "assistant"} - {None}
    calls = set()
    for entry in by_uuid.values():
        if entry.get("type") == "assistant" and message(entry).get("id") in replies:
            live[entry["uuid"]] = entry
            calls |= {block.get("id") for block in blocks(entry) if block.get("type") == "tool_use"}
    for entry in by_uuid.values():
        if any(block.get("tool_use_id") in calls for block in blocks(entry) if block.get("tool_use_id")):
            live[entry["uuid"]] = entry
    is_message = lambda entry: entry.get("uuid") in live and entry.get("type") in ("user", "assistant") and message(entry)
    return [entry for entry in all_entries if is_message(entry)]


def strings(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from strings(inner)


def parts(entry):
    """The visible texts of a message with their kinds: prompt, answer, call, result."""
    own = "prompt" if entry["type"] == "user" else "answer"
    for block in blocks(entry):
        kind = block.get("type")
        if kind == "text":
            yield own, block.get("text") or ""
        elif kind == "tool_use":
            yield "call", "\n".join(strings(block.get("input")))
        elif kind == "tool_result":
            content = block.get("content")
            inner = [it.get("text") or "" for it in content or [] if isinstance(it, dict)] if not isinstance(content, str) else [content]
            yield "result", "\n".join(inner)


def text(messages):
    return "\n".join(part for entry in messages for _, part in parts(entry))


def general(folder, paths):
    """The facts in sessions of three or more projects, which are the first folders below `folder`."""
    by_project = collections.defaultdict(set)
    for path in paths:
        said = [entry for entry in entries(path) if entry.get("type") in ("user", "assistant") and message(entry)]
        by_project[project(folder, path)] |= facts(text(said))
    counts = collections.Counter(fact for known in by_project.values() for fact in known)
    return {fact for fact, count in counts.items() if count >= 3}


def project(folder, path):
    return os.path.relpath(path, folder).split(os.sep)[0]


def needs(before, after, trivial):
    counts = collections.Counter()
    for entry in before:
        counts.update(set().union(*(facts(part) for _, part in parts(entry))))
    known = {fact for fact, count in counts.items() if count <= max(3, 0.3 * len(before))} - trivial
    seen, found = set(), set()
    for entry in after:
        for kind, part in parts(entry):
            named = facts(part)
            if kind in ("answer", "call"):
                found |= (named & known) - seen
            seen |= named
    return found


def is_prompt(entry):
    typed = [part.lstrip() for kind, part in parts(entry) if kind == "prompt"]
    return entry["type"] == "user" and any(part and not part.startswith(("<", "[Request")) for part in typed)


def sessions(folder, least_messages=60, least_chars=40_000):
    """The paths of transcripts below `folder`, the largest first, with their active messages; a session counts once."""
    paths = sorted(Path(folder).rglob("*.jsonl"), key=lambda path: (-path.stat().st_size, str(path)))
    seen = set()
    for path in paths:
        if "agent-" in path.name:
            continue
        chain = active(entries(path))
        if len(chain) < least_messages or len(text(chain)) < least_chars or chain[0]["uuid"] in seen:
            continue
        seen.add(chain[0]["uuid"])
        yield path, chain


class Case:
    """A session that is cut: the part before the cut as a file, and what is needed of it."""

    def __init__(self, path, before, found):
        self.path, self.before, self.needs = path, before, found
        self.text = text(before)
        self.old = found - facts(self.text[-len(self.text) // 5:])


def cases(folder, target, shares, n_sessions=10**9, at_prompts=True, least_needs=8, **limits):
    """The cuts of the sessions below `folder` at these shares of their messages, written as files to the folder `target`."""
    paths = sorted(Path(folder).rglob("*.jsonl"))
    trivial, n_found, n_files = general(folder, paths), 0, 0
    for path, chain in sessions(folder, **limits):
        if n_found >= n_sessions:
            break
        is_found = False
        for share in shares:
            at = int(len(chain) * share)
            fits = is_prompt if at_prompts else lambda entry: entry["type"] == "assistant"
            while at < len(chain) and not fits(chain[at]):
                at += 1
            if at >= len(chain) - 5:
                continue
            before, after = chain[:at], chain[at:]
            found = needs(before, after, trivial)
            if len(found) < least_needs:
                continue
            n_files += 1
            cut = Path(target) / f"{n_files}.jsonl"
            write_until(path, cut, before[-1]["uuid"])
            # The part before the cut alone may have another active chain.
            if text(active(entries(cut))) == text(before):
                is_found = True
                yield project(folder, path), Case(cut, before, found)
        n_found += is_found


def write_until(source, target, uuid):
    with open(source, "rb") as lines, open(target, "wb") as out:
        for line in lines:
            out.write(line)
            if f'"uuid":"{uuid}"'.encode() in line.replace(b'": "', b'":"'):
                return


def words_beside(line, fact):
    return {word.lower() for word in WORD.findall(line.replace(fact, " "))}


def lines_of(found, whole, most=40):
    """For each fact the words of the lines that hold it; of a long line, 120 characters to each side."""
    lines = collections.defaultdict(list)
    for line in dict.fromkeys(whole.split("\n")):
        for fact in facts(line) & found:
            if len(lines[fact]) < most:
                at = line.find(fact)
                near = line if len(line) <= 300 else line[max(0, at - 120):at + len(fact) + 120]
                lines[fact].append(words_beside(near, fact))
    return lines


def in_line(found, original, shown):
    """The facts that are shown in a line that shares three other words (all, where there are fewer) with a line of the original."""
    have = lines_of(found, shown, 200)
    shares = lambda one, other: len(one & other) >= min(3, len(other))
    return {fact for fact in found if any(shares(a, b) for a in have.get(fact, ()) for b in original.get(fact, ()))}
