"""Transcripts with planted facts.

A carrier is a linear Claude Code transcript: real ones from a folder, or made ones where there is no folder. Into it go facts
of ten kinds, each in a short turn of its own among sentences that the carrier has anyway, and pairs of statements of which
the later replaces the earlier. All values are random and occur nowhere else.
"""

import json
import random
import re
import uuid
from dataclasses import dataclass, field
from pathlib import Path

KINDS = ["constraint", "decision", "number", "path", "error", "todo", "edited file", "failing test", "id", "URL"]

TOPICS = """invoice exporter|webhook retries|tile cache|login throttle|image resizer|audit trail|search indexer|mail digest
payment gateway|session reaper|csv importer|rate limiter|thumbnail queue|billing ledger|feature flags|geo lookup
backup rotation|metrics scraper|schema registry|chat relay|pdf renderer|token refresher|upload scanner|report scheduler
price feed|crash collector|locale bundle|access proxy|event replay|shard balancer""".replace("\n", "|").split("|")

# Sentences for carriers that are made: they name things as real ones do, and tell nothing worth keeping.
FORMS = """The {noun} in `{snake}` follows the one we had before, so nothing moves for callers.
I read through {file} once more and it looks the way one would expect.
The naming around `{snake}` is a little uneven, which is fine for the moment.
Some comments in {file} are older than the code around them.
The loop in {file} goes over the {noun} and hands each of them to `{snake}`.
Most of the helpers are small; `{snake}` does what its name says.
The {noun} of the page is unchanged, only {n} of its lines are a bit lighter.
The {noun} is set up at the start and passed down to `{snake}` from there.
It reads the {noun} once and keeps it for the life of the process.
The tests around `{snake}` are readable and cover the usual cases of the {noun}.
A look at line {n} of {file} shows the usual mix of small changes.
Nothing in {file} talks to the {noun} by itself.""".split("\n")
NOUNS = "layout table reader handler cache index widget parser runner buffer filter sorter router loader printer".split()


def made_prose(rng):
    """Sentences for a carrier that is made."""
    fill = lambda form: form.format(noun=rng.choice(NOUNS), snake=f"{rng.word(4)}_{rng.word(5)}", n=rng.randrange(10, 400),
                                    file=f"src/{rng.word(5)}.rs")
    return [fill(rng.choice(FORMS)) for _ in range(150)]


PHRASES = {
    "constraint": [
        "The {topic} must never hold more than {n} rows in memory.",
        "Please keep the {topic} under {n} requests per minute, that is what the contract says.",
        "Don't touch the {topic} without asking {Name} first.",
        "For the {topic}, only deploy after {n}:00 UTC.",
        "I want every change to the {topic} behind the switch {SNAKE}.",
    ],
    "decision": [
        "We decided to build the {topic} on {Name} instead of {Name2}, because it needs no daemon.",
        "For the {topic} I went with {Name} over {Name2}.",
        "Agreed: the {topic} moves to {Name}, and {Name2} is rejected.",
        "The {topic} will use {Name}; we dropped {Name2} since it is not maintained.",
    ],
    "number": [
        "The {topic} now takes {n} ms at the 99th percentile.",
        "After the change the {topic} handles {n} messages per second.",
        "Measured on the {topic}: {n} MB at the peak.",
    ],
    "path": [
        "The settings of the {topic} live in {path}.",
        "The {topic} is started from {path}, not from the main module.",
        "What the {topic} writes goes to {path}.",
    ],
    "error": ["{Name}Error: {topic} refused record {n}", "error[E{n}]: the {topic} is borrowed twice",
              "FATAL: {topic} lost its lease {hex}"],
    "todo": [
        "Still to do: rename {snake} in the {topic}.",
        "TODO: the {topic} needs a retry around {snake}.",
        "Next I have to move {snake} out of the {topic}.",
        "Remaining: {snake} of the {topic} has no test yet.",
    ],
    "edited file": ["{path}"],
    "failing test": ["{snake}_{snake2}"],
    "id": [
        "The ticket for the {topic} is {CODE}.",
        "{CODE} tracks the work on the {topic}.",
        "The build of the {topic} that went out is {hex}.",
    ],
    "URL": [
        "The {topic} is documented at https://{snake}.example.net/{hex}.",
        "The dashboard of the {topic}: https://{snake}.example.org/d/{n}",
    ],
}

# An earlier and a later statement about the same thing; `{v}` is the value.
REPLACED = [
    ("The deadline for the {topic} is {v}.", "The deadline for the {topic} is {v} now.", "date"),
    ("The budget cap of the {topic} is ${v}.", "Change of plan: the budget cap of the {topic} is ${v}.", "n"),
    ("Use port {v} for the {topic}.", "Use port {v} for the {topic} from now on.", "n"),
    ("{v} reviews changes to the {topic}.", "{v} reviews changes to the {topic} from this week on.", "Name"),
    ("The {topic} runs in {v}.", "The {topic} runs in {v} since the move.", "region"),
    ("The {topic} currently stands at version {v}.", "The {topic} currently stands at version {v}.", "version"),
]


@dataclass
class Fact:
    kind: str
    topic: str
    text: str
    values: list
    query: str
    old: list = field(default_factory=list)


class Random(random.Random):
    def word(self, n):
        vowels, consonants = "aeiou", "bcdfghklmnprstvz"
        return "".join(self.choice(consonants if i % 2 == 0 else vowels) for i in range(n))

    def value(self, name):
        match name:
            case "n":
                return str(self.randrange(1100, 9899))
            case "Name" | "Name2":
                return self.word(7).capitalize()
            case "snake" | "snake2":
                return f"{self.word(5)}_{self.word(5)}" if name == "snake" else self.word(6)
            case "SNAKE":
                return f"{self.word(4)}_{self.word(6)}".upper()
            case "path":
                return f"{self.word(4)}/{self.word(5)}/{self.word(6)}.{self.choice(['toml', 'rs', 'py', 'yaml'])}"
            case "hex":
                return "".join(self.choice("0123456789abcdef") for _ in range(7)) + "4e"
            case "CODE":
                return f"{self.word(3).upper()}-{self.randrange(100, 9999)}"
            case "date":
                return f"20{self.randrange(30, 60)}-{self.randrange(1, 13):02}-{self.randrange(1, 29):02}"
            case "region":
                return f"eu-{self.word(5)}-{self.randrange(1, 9)}"
            case "version":
                return f"{self.randrange(2, 40)}.{self.randrange(10, 40)}.{self.randrange(1, 90)}"
        raise KeyError(name)

    def filled(self, phrase, topic):
        """The phrase with random values, and those of them that make the fact."""
        values = {}
        for name in re.findall(r"\{(\w+)\}", phrase):
            if name != "topic":
                values.setdefault(name, self.value(name))
        # What was rejected is part of a decision, but it stands for it without.
        told = [value for name, value in values.items() if name != "Name2"]
        return phrase.format(topic=topic, **values), told


QUERY = {"constraint": "{topic}", "decision": "{topic} decided", "number": "{topic} measured", "path": "{topic} settings path",
         "error": "{topic} error", "todo": "{topic} still to do", "edited file": "{topic}", "failing test": "{topic} test failed",
         "id": "{topic} ticket", "URL": "{topic} documentation"}


def facts(rng, per_kind, n_pairs):
    topics = rng.sample(TOPICS, len(KINDS) * per_kind + n_pairs)
    for kind in KINDS:
        for _ in range(per_kind):
            topic = topics.pop()
            text, values = rng.filled(rng.choice(PHRASES[kind]), topic)
            yield Fact(kind, topic, text, values, QUERY[kind].format(topic=topic))
    for _ in range(n_pairs):
        topic, (before, after, name) = topics.pop(), rng.choice(REPLACED)
        old, new = rng.value(name), rng.value(name)
        fact = Fact("replaced", topic, after.format(topic=topic, v=new), [new], topic, [old])
        fact.before = before.format(topic=topic, v=old)
        yield fact


class Chain:
    """Entries of a transcript, one after the other."""

    def __init__(self, rng, session):
        self.rng, self.session, self.entries, self.last, self.second = rng, session, [], None, 0

    def add(self, kind, message, **rest):
        self.second += 1
        ident = str(uuid.UUID(int=self.rng.getrandbits(128), version=4))
        time = f"2026-03-{2 + self.second // 86400:02}T{self.second // 3600 % 24:02}:{self.second // 60 % 60:02}:{self.second % 60:02}.000Z"
        entry = {"parentUuid": self.last, "isSidechain": False, "type": kind, "message": message, "uuid": ident, "timestamp": time,
                 "sessionId": self.session, "cwd": "/home/dev/project", "version": "2.1.92", "userType": "external", **rest}
        self.last = ident
        self.entries.append(entry)

    def user(self, text):
        self.add("user", {"role": "user", "content": text})

    def assistant(self, text):
        self.add("assistant", {"role": "assistant", "type": "message", "id": f"msg_{self.rng.getrandbits(64):x}", "model": "m",
                               "content": [{"type": "text", "text": text}]})

    def call(self, name, arguments, result, is_error=False):
        call = f"toolu_{self.rng.getrandbits(64):x}"
        self.add("assistant", {"role": "assistant", "type": "message", "id": f"msg_{self.rng.getrandbits(64):x}", "model": "m",
                               "content": [{"type": "tool_use", "id": call, "name": name, "input": arguments}]})
        block = {"type": "tool_result", "tool_use_id": call, "content": result} | ({"is_error": True} if is_error else {})
        self.add("user", {"role": "user", "content": [block]})

    def again(self, entry):
        """An entry of another transcript, as the next one."""
        rest = {key: entry[key] for key in ("toolUseResult", "isMeta", "isCompactSummary") if key in entry}
        self.add(entry["type"], entry["message"], **rest)


def plant(chain, fact, text, prose):
    rng = chain.rng
    around = lambda: rng.choice(prose)
    match fact.kind:
        case "constraint" | "replaced":
            chain.user(f"{around()} {text} {around()}" if rng.random() < 0.7 else text)
            chain.assistant(around())
        case "error":
            log = [f"[{n:03}] {around()[:70]}" for n in range(8)]
            chain.call("Bash", {"command": "make check"}, "\n".join(["Exit code 2", *log, text]), is_error=True)
        case "edited file":
            chain.call("Edit", {"file_path": f"/home/dev/project/{text}", "old_string": "a", "new_string": f"# {fact.topic}"},
                       f"The file /home/dev/project/{text} has been updated.")
        case "failing test":
            ok = [f"test {rng.word(6)}::{rng.word(8)} ... ok" for _ in range(20)]
            ok.insert(rng.randrange(20), f"test {fact.topic.replace(' ', '_')}::{text} ... FAILED")
            chain.call("Bash", {"command": f"cargo test {fact.topic.split()[0]}"},
                       "\n".join(["Exit code 101", *ok, "", "test result: FAILED. 20 passed; 1 failed; 0 ignored"]), is_error=True)
        case _:
            chain.assistant(" ".join([around(), text, around(), around()]))


def is_quiet(entries, at):
    """Whether no call waits for its result before the entry at `at`."""
    entry = entries[at]
    content = entry["message"]["content"]
    return entry["type"] == "user" and (isinstance(content, str) or all(b.get("type") != "tool_result" for b in content))


def carrier(seed, source=None, per_kind=2, n_pairs=4):
    """Entries and the facts in them."""
    rng = Random(seed)
    chain = Chain(rng, str(uuid.UUID(int=rng.getrandbits(128), version=4)))
    prose = source and prose_of(source) or made_prose(rng)
    planted = list(facts(rng, per_kind, n_pairs))
    jobs = [(rng.random(), fact, fact.text) for fact in planted if not fact.old]
    for fact in planted:
        if fact.old:
            early = rng.random() * 0.8
            jobs += [(early, fact, fact.before), (early + (1 - early) * rng.uniform(0.1, 1), fact, fact.text)]
    jobs.sort(key=lambda job: job[0])
    if source:
        places = [at for at in range(1, len(source)) if is_quiet(source, at)] + [len(source)]
        for at in range(len(source) + 1):
            while jobs and jobs[0][0] * len(source) <= at and at in places:
                _, fact, text = jobs.pop(0)
                plant(chain, fact, text, prose)
            if at < len(source):
                chain.again(source[at])
    else:
        chain.user("Go through the services one by one and bring them up to date. " + rng.choice(prose))
        for _, fact, text in jobs:
            for _ in range(rng.randrange(2, 5)):
                filler(chain, prose)
            plant(chain, fact, text, prose)
        for _ in range(4):
            filler(chain, prose)
    chain.assistant(rng.choice(prose))
    return chain.entries, planted


def filler(chain, prose):
    rng = chain.rng
    sentences = lambda n: " ".join(rng.choice(prose) for _ in range(n))
    match rng.randrange(4):
        case 0:
            chain.user(sentences(2))
            chain.assistant(sentences(4))
        case 1:
            code = "\n".join(f"{n:6}\tlet {rng.word(5)} = {rng.word(6)}({rng.word(4)});" for n in range(1, 30))
            chain.call("Read", {"file_path": f"/home/dev/project/src/{rng.word(6)}.rs"}, code)
        case 2:
            listing = "\n".join(f"src/{rng.word(5)}.rs:{rng.randrange(1, 99)}: fn {rng.word(7)}()" for _ in range(20))
            chain.call("Bash", {"command": f"rg -n {rng.word(5)} src"}, listing)
        case 3:
            chain.assistant(sentences(5))


def read(path):
    """The messages of a transcript in their order, without subagents."""
    entries = []
    for line in Path(path).read_bytes().splitlines():
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if entry.get("type") in ("user", "assistant") and not entry.get("isSidechain") and "message" in entry:
            if entry["message"].get("content"):
                entries.append(paired(entry))
    calls = {b["id"] for e in entries if e["type"] == "assistant" for b in e["message"]["content"] if b.get("type") == "tool_use"}
    results = {b["tool_use_id"] for e in entries if e["type"] == "user" and isinstance(e["message"]["content"], list)
               for b in e["message"]["content"] if b.get("type") == "tool_result"}
    whole = calls & results
    keep = lambda b: b.get("type") not in ("tool_use", "tool_result") or (b.get("id") or b.get("tool_use_id")) in whole
    for entry in entries:
        if isinstance(entry["message"]["content"], list):
            entry["message"]["content"] = [b for b in entry["message"]["content"] if keep(b)]
    entries = [entry for entry in entries if entry["message"]["content"]]
    while entries and not is_quiet(entries, 0):
        entries.pop(0)
    return entries


def paired(entry):
    content = entry["message"]["content"]
    if entry["type"] == "assistant" and isinstance(content, str):
        entry["message"]["content"] = [{"type": "text", "text": content}]
    elif entry["type"] == "assistant":
        entry["message"]["content"] = [b for b in content if b.get("type") != "thinking"]
    return entry


def prose_of(entries):
    """Plain sentences of what an assistant wrote, to stand around what is planted."""
    found = []
    for entry in entries:
        if entry["type"] == "assistant":
            for block in entry["message"]["content"]:
                for sentence in re.split(r"(?<=[.!?])\s+", block.get("text", "")):
                    if re.fullmatch(r"[A-Z][A-Za-z ,']{30,160}[.]", sentence):
                        found.append(sentence)
    return found if len(found) >= 8 else []


def texts(entries):
    """All that a model would get of the entries, as text."""
    def of(block):
        match block.get("type"):
            case "text":
                return block.get("text", "")
            case "tool_use":
                return json.dumps(block.get("input"), ensure_ascii=False)
            case "tool_result":
                inner = block.get("content", "")
                return inner if isinstance(inner, str) else "\n".join(of(b) for b in inner or [])
        return ""
    for entry in entries:
        content = entry.get("message", {}).get("content", "")
        yield content if isinstance(content, str) else "\n".join(of(block) for block in content)
