#!/usr/bin/env python3
"""The public compaction-conformance-kit (PyPI, 0.8.0), with ctxc among its strategies, and our variants of it.

    pip install compaction-conformance-kit==0.8.0 && python3 benches/keep/kit.py

The kit's labels ("HARD CONSTRAINT: ...") give its facts away, so a variant goes without them, among sentences that a model
wrote (of CTXC_CORPUS, where it is set).
"""

import os
import random
import re
import sys
import tempfile
from pathlib import Path

from compaction_kit import compactors
from compaction_kit.benchmark import run_budget_benchmark
from compaction_kit.corpus import build_random_session
from compaction_kit.generated import build_generated_session
from compaction_kit.probes import _holds

import carriers
import ctxc

LABEL = re.compile(r"(SAFETY RULE|HARD CONSTRAINT|FACT|GOAL STATE|USER PREFERENCE): ")


class Ctxc:
    name = "ctxc"

    def compact(self, turns, round_num=1, budget_chars=None):
        with tempfile.TemporaryDirectory() as folder:
            source, target = Path(folder) / "session.jsonl", Path(folder) / "compacted.jsonl"
            chain = carriers.Chain(carriers.Random(1), "11111111-1111-4111-8111-111111111111")
            for turn in turns:
                if turn.text.startswith("[Context Summary"):
                    chain.add("user", {"role": "user", "content": turn.text}, isCompactSummary=True, isVisibleInTranscriptOnly=True)
                    chain.user("Go on.")
                elif turn.role == "assistant":
                    chain.assistant(turn.text)
                else:
                    chain.user(turn.text)
            ctxc.write(source, chain.entries)
            text = ctxc.compact(source, target, budget_chars or 4000, "memory:")
        return compactors.CompactedContext(text=text, compactor_name=self.name, round_num=round_num)


class Oracle:
    """Exactly what is asked for, as far as it fits: no way of choosing is above it."""

    name = "oracle"

    def __init__(self, canaries):
        self.canaries = canaries

    def compact(self, turns, round_num=1, budget_chars=None):
        kept = []
        for canary in sorted(self.canaries, key=lambda canary: len(canary.content)):
            if len("\n".join([*kept, canary.content])) <= budget_chars:
                kept.append(canary.content)
        return compactors.CompactedContext(text="\n".join(kept), compactor_name=self.name, round_num=round_num)


STRATEGIES = [compactors.LossyTruncationCompactor, compactors.NaiveSummaryCompactor, compactors.ChecklistCompactor,
              compactors.UpdateAwareChecklistCompactor, compactors.PinnedRulesCompactor, compactors.SummaryTailCompactor]


def prose():
    corpus, found = os.environ.get("CTXC_CORPUS"), []
    for path in sorted(Path(corpus).rglob("*.jsonl"))[:150] if corpus else []:
        if path.stat().st_size < 1_000_000:
            found += carriers.prose_of(carriers.read(path))
    return sorted(set(found)) or carriers.made_prose(carriers.Random(1))


def without_labels(session, canaries, rng, sentences):
    """The session without labels, its filler replaced."""
    planted = {canary.content for canary in canaries}
    stale = lambda text: LABEL.match(text) is not None
    turns = []
    for turn in session.turns:
        text = LABEL.sub("", turn.text) if turn.text in planted or stale(turn.text) else rng.choice(sentences)
        turns.append(type(turn)(turn.role, text, turn.canary_id))
    return type(session)(turns=tuple(turns), canary_positions=session.canary_positions), canaries


def score(build, make, share, seeds):
    kept = n = latest = n_pairs = stale = 0
    over = 0
    for seed in seeds:
        session, canaries = build(seed)
        budget = int(len(compactors._turns_to_text(session.transcript())) * share)
        text = make(canaries).compact(session.transcript(), budget_chars=budget).text
        over = max(over, len(text) / budget)
        lower = text.lower()
        for canary in canaries:
            is_in = _holds(lower, canary.required_tokens)
            kept, n = kept + is_in, n + 1
            if canary.superseded_tokens:
                old = any(token.lower() in lower for token in canary.superseded_tokens)
                n_pairs, latest, stale = n_pairs + 1, latest + (is_in and not old), stale + (old and not is_in)
    return f"{100 * kept / n:.0f} ({100 * latest / n_pairs:.0f}, {100 * stale / n_pairs:.0f})" + (" over" if over > 1 else "")


def main():
    n_seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 8
    sentences = prose()
    bare = lambda seed: without_labels(*build_random_session(seed), random.Random(seed), sentences)
    print(f"Kept in percent, and in brackets of re-stated values: only the latest in, only the old one in; {n_seeds} sessions each, one round\n")
    print("| strategy | " + " | ".join(f"{suite} {share:.0%}" for suite in ("random", "generated", "no labels") for share in (0.1, 0.2, 0.3)) + " |")
    print("|---|" + "--:|" * 9)
    makers = [("ctxc", lambda _: Ctxc())] + [(s.name, lambda _, s=s: s()) for s in STRATEGIES] + [("oracle", Oracle)]
    for name, make in makers:
        cells = [score(build, make, share, range(n_seeds)) for build in (build_random_session, build_generated_session, bare)
                 for share in (0.1, 0.2, 0.3)]
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)
    if "--rounds" in sys.argv:
        payload = run_budget_benchmark({"ctxc": Ctxc, "update-aware-checklist": compactors.UpdateAwareChecklistCompactor})
        for entry in payload["entries"]:
            print(entry["compactor"], entry["budget_fraction"], entry["budget_compliant"], entry["randomized"]["overall_final_survival"],
                  entry["semantic"]["resolved_rate"], entry["semantic"]["distinct_pair_rate"])


if __name__ == "__main__":
    main()
