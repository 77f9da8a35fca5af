//! An archive on a PostgreSQL server, from the shell. Each test has a schema of its own on the server that
//! `CTXC_TEST_POSTGRES` names, and says that it is left out where there is none.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::stage::{Stage, fixture};

/// A stage whose archive lies in a new schema of the server, the URL with its password and that without. The schema stays
/// for the server to go with: it is one for tests.
#[expect(clippy::print_stderr, reason = "who runs the tests has to see what they leave out")]
fn on_a_server() -> Option<(Stage, String, String)> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let Some(url) = std::env::var("CTXC_TEST_POSTGRES").ok().filter(|url| !url.is_empty()) else {
        let thread = std::thread::current();
        let test = thread.name().unwrap_or("a test");
        eprintln!("left out, for CTXC_TEST_POSTGRES names no server: {test}");
        return None;
    };
    let schema = format!("it_{}_{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let url = format!("{url}&schema={schema}");
    let (before, after) = url.split_once('@').unwrap();
    let (user, _) = before.rsplit_once(':').unwrap();
    let shown = format!("{user}@{after}");
    let stage = Stage::new().file("a.jsonl", fixture("session-small")).env("CTXC_ARCHIVE", &url);
    Some((stage, url, shown))
}

fn password(url: &str) -> &str {
    url.split_once('@').unwrap().0.rsplit_once(':').unwrap().1
}

// what was compressed with an archive on a server comes back, and the password shows nowhere.
#[test]
fn a_01_a_session_comes_back_from_a_server_and_the_password_shows_nowhere() {
    let Some((stage, url, shown)) = on_a_server() else { return };
    let compressed = stage
        .run([
            "compress",
            "a.jsonl",
            "--bands",
            "0-30:heavy,50-80:compress",
            "-o",
            "b.jsonl",
            "--archive",
            &url,
            "--json",
        ])
        .ended(0);
    stage.run(["prune", "b.jsonl", "--mask", "2", "-o", "c.jsonl"]).ended(0);
    let listed = stage.run(["archive", "list"]).ended(0);
    assert!(listed.stderr.contains(&format!("{shown} holds 2 operations")), "{}", listed.stderr);
    let found = stage.run(["archive", "search", "idempotency key", "--archive", &shown]).ended(0);
    assert!(found.text.contains("idempotency key"), "{}", found.text);
    let log = stage.run(["log", "c.jsonl", "--json"]).ended(0);
    let swept = stage.run(["archive", "gc", "--dry-run"]).ended(0);
    let config = stage.run(["config"]).ended(0);
    assert!(config.text.contains(&shown), "{}", config.text);
    let restored = stage.run(["restore", "b.jsonl", "--all", "-o", "back.jsonl"]).ended(0);
    assert_eq!(stage.bytes("back.jsonl"), fixture("session-small"));
    for run in [compressed, listed, found, log, swept, config, restored] {
        assert!(!run.text.contains(password(&url)), "{}", run.text);
    }
    let transcripts = [stage.bytes("b.jsonl"), stage.bytes("c.jsonl")].concat();
    assert!(!String::from_utf8_lossy(&transcripts).contains(password(&url)));
    assert!(String::from_utf8_lossy(&transcripts).contains(&shown), "what was cut names its archive");
}

// an archive of one's own moves to the team's, and comes back whole.
#[test]
fn a_04_an_archive_moves_to_a_server_and_back() {
    let Some((stage, url, shown)) = on_a_server() else { return };
    let own = "sqlite:own.sqlite";
    stage.run(["compress", "a.jsonl", "--bands", "0-100:heavy", "-o", "b.jsonl", "--archive", own]).ended(0);
    let moved = stage.run(["archive", "copy", "--archive", own, "--to", &url]).ended(0);
    assert_eq!(moved.stdout, format!("{shown}\n").into_bytes());
    assert!(moved.stderr.contains("copied 1 operation with"), "{}", moved.stderr);
    let again = stage.run(["archive", "copy", "--archive", own, "--to", &url]).ended(0);
    assert!(again.stderr.contains("copied 0 operations"), "{}", again.stderr);
    stage.run(["archive", "copy", "--to", "sqlite:back.sqlite"]).ended(0);
    stage.run(["restore", "b.jsonl", "--all", "-o", "c.jsonl", "--archive", "sqlite:back.sqlite"]).ended(0);
    assert_eq!(stage.bytes("c.jsonl"), fixture("session-small"));
    let itself = stage.run(["archive", "copy", "--to", &url]).ended(2);
    assert!(itself.stderr.contains("into itself") && !itself.text.contains(password(&url)), "{}", itself.text);
}

// looking makes nothing, and what is wrong with a server is said without the password.
#[test]
fn a_01_a_server_that_cannot_be_used_is_an_error() {
    let stage = Stage::new().file("a.jsonl", fixture("small"));
    let absent = "postgres://ann:planted@127.0.0.1:9/team";
    let run =
        stage.run(["compress", "a.jsonl", "--bands", "0-100:heavy", "-o", "b.jsonl", "--archive", absent]).ended(1);
    assert!(run.stderr.contains("cannot reach the archive postgres://ann@127.0.0.1:9/team"), "{}", run.stderr);
    assert_eq!(stage.names().iter().filter(|name| name.starts_with('b')).count(), 0, "nothing was written");
    let plain =
        stage.run(["archive", "list", "--archive", "postgres://ann:planted@db.example.org/t?sslmode=prefer"]).ended(2);
    assert!(plain.stderr.contains("unasked"), "{}", plain.stderr);
    for run in [run, plain] {
        assert!(!run.text.contains("planted"), "{}", run.text);
    }
    let Some((stage, _, shown)) = on_a_server() else { return };
    let none = stage.run(["archive", "list"]).ended(1);
    assert!(none.stderr.contains(&format!("cannot open the archive {shown}: there is none")), "{}", none.stderr);
}
