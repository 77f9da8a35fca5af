"""Sessions of a few entries from fixtures/parents.json, as the real client reads them (scripts/test-client parents)."""

import json
import re

SESSION = "11111111-1111-4111-8111-111111111111"


def uuid(label):
    return "%s-0000-4000-8000-000000000000" % label.encode().hex().rjust(8, "0")[-8:]


def entry(line):
    """The entry that a line of a case says, as tests/it/parents.rs makes it."""
    label, parent, second, *more = line.split(" ")
    parent = None if parent == "-" else uuid(parent)
    if label[0] == "L":
        return {"type": "last-prompt", "lastPrompt": "x", "leafUuid": parent, "sessionId": SESSION}
    name, reply = "[%s]" % label, {"type": "message", "role": "assistant", "model": "m", "usage": {"input_tokens": 10, "output_tokens": 10}}
    call = {"type": "tool_use", "id": "toolu_" + label[1:].replace(".", "_"), "name": "Read", "input": {"file_path": name}}
    result = {"type": "tool_result", "tool_use_id": call["id"], "content": name + " result"}
    kinds = {
        "P": {"type": "user", "message": {"role": "user", "content": name + " prompt"}},
        "A": {"type": "assistant", "message": {**reply, "id": "msg_" + label, "content": [{"type": "text", "text": name + " answer"}], "stop_reason": "end_turn"}},
        "C": {"type": "assistant", "message": {**reply, "id": "msg_" + label[:2], "content": [call], "stop_reason": "tool_use"}},
        "R": {"type": "user", "message": {"role": "user", "content": [result]}},
        "S": {"type": "system", "subtype": "informational", "content": "(%s) note" % label, "isMeta": False},
        "G": {"type": "progress", "data": {"type": "bash_progress"}},
        "T": {"type": "attachment", "attachment": {"type": "queued_command", "prompt": name + " queued", "commandMode": "prompt"}},
        "B": {"type": "system", "subtype": "compact_boundary", "content": "Conversation compacted", "compactMetadata": {"trigger": "manual", "preTokens": 100}},
    }
    fields = {"parentUuid": parent, "isSidechain": False, "userType": "external", "cwd": "/w", "sessionId": SESSION, "version": "2.1.0", **kinds[label[0]], "uuid": uuid(label)}
    if second != "-":
        fields["timestamp"] = "2026-01-01T00:%02d:%06.3fZ" % (float(second) // 60, float(second) % 60)
    fields.update((key, json.loads(value)) for key, value in (word.split("=", 1) for word in more))
    return fields


def labels(text):
    """The labels in what is sent."""
    return re.findall(r"\[([A-Z][\w.]*)\]", text)
