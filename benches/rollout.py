#!/usr/bin/env python3
"""Makes a rollout of Codex that has grown as people report it, for measuring `ctxc slim`.

    benches/rollout.py FILE [--megabytes 1000] [--compactions 300] [--images 57] [--line 2.5]
                            [--generations 2] [--in-one-turn] [--seed 0]

Each turn runs commands and is compacted; each compaction repeats its images, in a line of so many megabytes at most. The file
begins with the history of its parents, as a legacy child does, each with its own header. Equal arguments give equal bytes.
"""

import argparse
import base64
import json
import pathlib
import random
import uuid

TIME = "2026-11-23T10:00:00.000Z"


class Rollout:
    def __init__(self, file, arguments):
        self.file, self.n_bytes, self.random = file, 0, random.Random(arguments.seed)
        self.images = ["data:image/png;base64," + base64.b64encode(self.random.randbytes(int(arguments.line * 7e5 / max(arguments.images, 1)))).decode()
                       for _ in range(arguments.images)]
        self.words = ["".join(self.random.choices("abcdefghijklmnopqrstuvwxyz_", k=self.random.randint(2, 11))) for _ in range(4000)]

    def line(self, kind, payload):
        self.n_bytes += self.file.write(json.dumps({"timestamp": TIME, "type": kind, "payload": payload}, separators=(",", ":")) + "\n")

    def event(self, kind, **more):
        self.line("event_msg", {"type": kind, **more})

    def text(self, n_bytes):
        return " ".join(self.random.choices(self.words, k=max(1, n_bytes // 8)))

    def header(self, session):
        self.line("session_meta", {"id": session, "session_id": session, "timestamp": TIME, "cwd": "/home/dev/atlas", "originator": "codex_cli_rs",
                                   "cli_version": "0.144.6", "source": "cli", "base_instructions": {"text": self.text(20000)}, "history_mode": "legacy"})

    def start(self, n_turn, prompt):
        turn = {"turn_id": "turn-%d" % n_turn}
        self.event("task_started", **turn, model_context_window=258400)
        self.line("turn_context", {**turn, "cwd": "/home/dev/atlas", "approval_policy": "never", "sandbox_policy": {"type": "danger-full-access"},
                                   "model": "gpt-5.5", "summary": "auto"})
        self.line("response_item", said("user", prompt))
        self.event("user_message", message=prompt)
        return turn

    def work(self, n_bytes):
        """Commands with so many bytes of output in all."""
        for _ in range(max(1, n_bytes // 40000)):
            call, output = "call_%d" % self.n_bytes, self.text(min(n_bytes, 16000))
            self.line("response_item", {"type": "reasoning", "summary": [], "encrypted_content": self.text(1500)})
            self.line("response_item", {"type": "function_call", "name": "exec_command", "arguments": json.dumps({"cmd": "make"}), "call_id": call})
            self.event("exec_command_end", call_id=call, aggregated_output=output)
            self.line("response_item", {"type": "function_call_output", "call_id": call, "output": output})
            self.event("token_count", info={"last_token_usage": {"total_tokens": 200000}, "model_context_window": 258400})
        self.line("response_item", said("assistant", self.text(2000)))

    def compact(self, n_bytes):
        history = [image_of(image) for image in self.images]
        history += [said("user", self.text(8000)) for _ in range(max(1, (n_bytes - len("".join(self.images))) // 8500))]
        self.line("compacted", {"message": "SUMMARY", "replacement_history": history, "window_id": str(uuid.UUID(int=self.random.getrandbits(128)))})
        self.event("token_count", info={"last_token_usage": {"total_tokens": 9000}, "model_context_window": 258400})


def said(role, text):
    return {"type": "message", "role": role, "content": [{"type": "output_text" if role == "assistant" else "input_text", "text": text}]}


def image_of(url):
    return {"type": "message", "role": "user", "content": [{"type": "input_image", "image_url": url}]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=pathlib.Path)
    for name, kind, default in (("megabytes", float, 1000), ("compactions", int, 300), ("images", int, 57), ("line", float, 2.5),
                                ("generations", int, 2), ("seed", int, 0)):
        parser.add_argument("--" + name, type=kind, default=default)
    parser.add_argument("--in-one-turn", action="store_true")
    arguments = parser.parse_args()
    with arguments.file.open("w") as file:
        rollout = Rollout(file, arguments)
        sessions = [str(uuid.UUID(int=n + 1)) for n in range(arguments.generations)]
        for session in reversed(sessions):  # Its own header first, then those of its parents.
            rollout.header(session)
        share = arguments.megabytes * 1e6 / max(arguments.compactions, 1)
        line = int(min(arguments.line * 1e6, share * 0.9))
        turn = rollout.start(0, "begin")
        for n_turn in range(1, arguments.compactions + 1):
            begun = rollout.n_bytes
            rollout.compact(line)
            rollout.work(int(max(0, share - (rollout.n_bytes - begun)) / 2.2))
            if not arguments.in_one_turn:
                rollout.event("task_complete", **turn)
                turn = rollout.start(n_turn, rollout.text(400))
        rollout.event("task_complete", **turn)


if __name__ == "__main__":
    main()
