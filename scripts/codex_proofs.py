"""What scripts/test-agents proves with the real Codex."""

import json

from codex_stage import id_of, said, text_of

PATCH = "*** Begin Patch\n*** Update File: notes.txt\n@@\n-line 2 of the notes\n+line two of the notes\n*** End Patch\n"
PROOFS = []


def proof(function):
    PROOFS.append(function)
    return function


def told(codex):
    """A session of three turns, in which notes.txt is read, changed and read again, and two commands are run; its file."""
    (codex.project / "notes.txt").write_text("".join("line %d of the notes\n" % n for n in range(1, 300)))
    codex.say("please read notes.txt", [[{"think": "I read it"}, {"run": "cat notes.txt"}], ["It has 299 lines."]])
    (session,) = codex.rollouts()
    script = [[{"think": "I patch"}, {"patch": PATCH}], [{"think": "again"}, {"run": "cat notes.txt"}], ["Changed."]]
    codex.say("change line 2", script, id_of(session))
    codex.say("count them", [[{"run": "wc -l notes.txt"}, {"run": "wc -c notes.txt"}], ["They are 299."]], id_of(session))
    return session


@proof
def lists_and_reads(codex):
    """What ctxc says of a session is what the client sends of it."""
    session = told(codex)
    (sent,) = codex.say("go on", [], id_of(session))
    rows = codex.ctxc("list")["sessions"]
    assert [(row["agent"], row["turns"], row["path"]) for row in rows] == [("Codex", 4, str(session))], rows
    assert codex.ctxc("list", "--agent", "claude")["sessions"] == []
    shown = json.dumps(codex.ctxc("show", session))
    for item in said(sent):
        if item["type"] in ("message", "function_call_output"):
            for line in text_of(item).split("\n")[:8]:
                assert json.dumps(line)[1:-1] in shown, line
    calls = codex.ctxc("refs", session)["calls"]
    assert [call["tool"] for call in calls] == ["Bash", "Edit", "Bash", "Bash", "Bash"], calls
    hits = codex.ctxc("find", "line 299", *codex.archive())["hits"]
    assert hits and hits[0]["path"] == str(session) and hits[0]["resume"] == "codex resume %s" % id_of(session), hits
    assert codex.ctxc("check", session)["problems"] == [], "the session as Codex wrote it"


@proof
def knows_compactions(codex):
    """After the client's own compaction only what it keeps is active."""
    session = told(codex)
    codex.configure("model_auto_compact_token_limit = 2000")
    codex.say("go on", [["SUMMARY OF BEFORE"], ["done"]], id_of(session))
    codex.configure("")
    assert b'"type":"compacted"' in session.read_bytes()
    (sent,) = codex.say("and now", [], id_of(session))
    shown = json.dumps(codex.ctxc("show", session))
    assert "SUMMARY OF BEFORE" in shown and "It has 299 lines" not in shown, shown[-2000:]
    for item in said(sent):
        for line in text_of(item).split("\n")[:3]:
            assert json.dumps(line)[1:-1] in shown, line
    assert not any("It has 299 lines" in text_of(item) for item in sent)
