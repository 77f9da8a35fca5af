//! What only a database has: files, modes, versions, other processes.

use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use rusqlite::Connection;

use super::Sqlite;
use super::rows;
use super::schema::NEWEST;
use crate::archive::suite::{operation, removed};
use crate::archive::{Archive, ArchiveError};
use crate::text::Digest;

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn count(path: &Path, table: &str) -> i64 {
    let connection = Connection::open(path).unwrap();
    connection.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap()
}

#[test]
fn a_02_the_same_digest_is_one_body() {
    let folder = folder();
    let path = folder.path().join("a.sqlite");
    let mut archive = Sqlite::open(&path).unwrap();
    for uuid in ["u", "v", "u"] {
        archive.put_original(&removed(b"line", uuid)).unwrap();
        archive.put_original(&removed(b"line", "w")).unwrap();
        archive.commit().unwrap();
    }
    assert_eq!((count(&path, "body"), count(&path, "original")), (1, 3));
}

#[test]
fn a_02_every_look_up_goes_by_an_index() {
    let folder = folder();
    let archive = Sqlite::open(&folder.path().join("a.sqlite")).unwrap();
    for (sql, index) in [
        (rows::BODY, "body_by_digest"),
        (rows::ORIGINALS_BY_UUID, "original_by_uuid"),
        (rows::ORIGINAL_BY_LINE, "original_by_line"),
        (rows::OPERATION_BY_OUTPUT, "operation_by_output"),
        (rows::OPERATIONS_BY_SESSION, "operation_by_session"),
        (rows::OPERATION_BY_ID, "sqlite_autoindex_operation_1"),
    ] {
        let plan = archive.query_plan(sql).unwrap();
        assert!(plan[0].contains(&format!("USING INDEX {index} ")), "{sql}: {plan:?}");
    }
}

#[test]
fn a_03_a_commit_is_synced_to_the_disk() {
    let folder = folder();
    let path = folder.path().join("a.sqlite");
    drop(Sqlite::open(&path).unwrap());
    let connection = super::connect::connect(&path).unwrap();
    let mode: String = connection.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
    let synchronous: i64 = connection.pragma_query_value(None, "synchronous", |row| row.get(0)).unwrap();
    // 2 is FULL, which in WAL mode syncs the log at each commit; 1, NORMAL, does not.
    assert_eq!((mode.as_str(), synchronous), ("wal", 2));
}

#[test]
fn a_03_what_is_committed_survives_and_what_is_not_does_not() {
    let folder = folder();
    let path = folder.path().join("a.sqlite");
    let mut archive = Sqlite::open(&path).unwrap();
    let kept = archive.put_original(&removed(b"kept", "u")).unwrap();
    archive.put_operation(&operation("1", b"output")).unwrap();
    archive.commit().unwrap();
    let lost = archive.put_original(&removed(b"lost", "u")).unwrap();
    archive.put_operation(&operation("2", b"output")).unwrap();
    drop(archive);

    let archive = Sqlite::open(&path).unwrap();
    assert_eq!(archive.line(kept).unwrap().as_deref(), Some(b"kept".as_slice()));
    assert_eq!(archive.operations("session").unwrap(), [operation("1", b"output")]);
    assert_eq!(archive.line(lost).unwrap(), None);
    assert_eq!(archive.originals_of("u").unwrap().len(), 1);
}

#[test]
fn a_02_names_that_sqlite_takes_for_something_else_are_files() {
    let folder = folder();
    for name in [":memory:", "file:a?mode=memory", "a b#%41.sqlite", "会.sqlite"] {
        // Windows has no such names.
        if cfg!(windows) && name.contains([':', '?']) {
            continue;
        }
        let path = folder.path().join(name);
        let mut archive = Sqlite::open(&path).unwrap();
        archive.put_original(&removed(b"line", "u")).unwrap();
        archive.commit().unwrap();
        drop(archive);
        assert_eq!(count(&path, "body"), 1, "{name}");
    }
}

#[test]
fn a_02_making_an_archive_leaves_no_other_file() {
    let folder = folder();
    drop(Sqlite::open(&folder.path().join("a.sqlite")).unwrap());
    let names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["a.sqlite"]);
}

#[cfg(unix)]
mod modes {
    use std::os::unix::fs::PermissionsExt;
    use std::path::PathBuf;

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_02_the_archive_is_its_owners_alone() {
        let folder = folder();
        set_mode(folder.path(), 0o755);
        let path = folder.path().join("new/folders/a.sqlite");
        let mut archive = Sqlite::open(&path).unwrap();
        archive.put_original(&removed(b"line", "u")).unwrap();
        archive.commit().unwrap();
        for (name, expected) in [
            ("", 0o755),
            ("new", 0o700),
            ("new/folders", 0o700),
            ("new/folders/a.sqlite", 0o600),
            ("new/folders/a.sqlite-wal", 0o600),
            ("new/folders/a.sqlite-shm", 0o600),
        ] {
            let found = mode(&folder.path().join(name));
            assert_eq!(found, expected, "{name} has mode {found:o}");
        }
    }

    #[test]
    fn a_02_an_archive_that_others_can_read_is_closed_to_them() {
        let folder = folder();
        let path = folder.path().join("a.sqlite");
        drop(Sqlite::open(&path).unwrap());
        set_mode(&path, 0o644);
        let _archive = Sqlite::open(&path).unwrap();
        assert_eq!(mode(&path), 0o600);
    }

    #[test]
    fn a_02_the_file_of_another_program_keeps_its_mode() {
        let folder = folder();
        let path = folder.path().join("a.sqlite");
        Connection::open(&path).unwrap().execute_batch("CREATE TABLE t (x)").unwrap();
        set_mode(&path, 0o644);
        assert!(matches!(Sqlite::open(&path), Err(ArchiveError::Foreign { .. })));
        assert_eq!(mode(&path), 0o644);
    }

    #[test]
    fn a_02_a_path_that_is_no_utf8_comes_back() {
        use std::os::unix::ffi::OsStrExt;
        let folder = folder();
        let mut archive = Sqlite::open(&folder.path().join("a.sqlite")).unwrap();
        let mut odd = operation("1", b"output");
        odd.output.path = Some(PathBuf::from(std::ffi::OsStr::from_bytes(b"/a/\xff\xfe.jsonl")));
        archive.put_operation(&odd).unwrap();
        archive.commit().unwrap();
        assert_eq!(archive.operations("session").unwrap(), [odd]);
    }
}

#[test]
fn a_02_a_newer_schema_is_refused() {
    let folder = folder();
    let path = folder.path().join("a.sqlite");
    drop(Sqlite::open(&path).unwrap());
    Connection::open(&path).unwrap().pragma_update(None, "user_version", NEWEST + 6).unwrap();
    let error = Sqlite::open(&path).err().unwrap();
    assert!(matches!(error, ArchiveError::NewerSchema { found, known: NEWEST, .. } if found == NEWEST + 6), "{error}");
    assert!(error.to_string().contains("update ctxc"), "{error}");
}

#[test]
fn a_02_an_empty_file_becomes_an_archive() {
    let folder = folder();
    let path = folder.path().join("a.sqlite");
    fs::write(&path, "").unwrap();
    let mut archive = Sqlite::open(&path).unwrap();
    archive.put_original(&removed(b"line", "u")).unwrap();
    archive.commit().unwrap();
    drop(archive);
    assert_eq!(count(&path, "body"), 1);
    let connection = Connection::open(&path).unwrap();
    let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!((pragma("user_version"), pragma("application_id")), (NEWEST, 0x6374_7863));
}

#[test]
fn a_02_what_is_no_archive_is_refused_and_left_alone() {
    let folder = folder();
    let text = folder.path().join("notes.txt");
    let content = "not a database\n".repeat(500);
    fs::write(&text, &content).unwrap();
    let error = Sqlite::open(&text).err().unwrap();
    assert!(matches!(error, ArchiveError::Damaged { .. }), "{error}");
    assert!(error.to_string().contains("move it aside"), "{error}");
    assert_eq!(fs::read_to_string(&text).unwrap(), content);

    let error = Sqlite::open(folder.path()).err().unwrap();
    assert!(matches!(error, ArchiveError::NotWritable { .. }), "a folder: {error}");
    let error = Sqlite::open(&text.join("a.sqlite")).err().unwrap();
    assert!(matches!(error, ArchiveError::Create { .. }), "below a file: {error}");
}

#[test]
fn a_02_a_damaged_archive_is_an_error_and_never_wrong_bytes() {
    let folder = folder();
    let path = folder.path().join("a.sqlite");
    let mut archive = Sqlite::open(&path).unwrap();
    let digest = archive.put_original(&removed(&b"line ".repeat(100), "u")).unwrap();
    archive.put_operation(&operation("1", b"output")).unwrap();
    archive.commit().unwrap();
    drop(archive);
    for (damage, what) in [
        ("UPDATE body SET bytes = 3", "a wrong length"),
        ("UPDATE body SET codec = 9", "an unknown codec"),
        ("UPDATE body SET codec = 0", "another codec"),
        ("UPDATE body SET content = x'00'", "no zstd"),
        ("UPDATE operation SET recipe = x'0100'", "no recipe"),
        ("UPDATE operation SET source_digest = x'01'", "a digest too short"),
        ("UPDATE operation SET time = 'once'", "no time"),
        ("UPDATE operation SET session_ids = '{'", "no list"),
    ] {
        Connection::open(&path).unwrap().execute_batch(damage).unwrap();
        let archive = Sqlite::open(&path).unwrap();
        let error = if damage.contains("body") {
            archive.line(digest).unwrap_err()
        } else {
            archive.operations("session").unwrap_err()
        };
        assert!(matches!(error, ArchiveError::Damaged { .. }), "{what}: {error:?}");
    }
    // The pages behind the first, which SQLite finds only when it comes to them.
    let mut bytes = fs::read(&path).unwrap();
    bytes[4096..].fill(0x5a);
    fs::write(&path, bytes).unwrap();
    let error = Sqlite::open(&path).and_then(|archive| archive.line(digest)).unwrap_err();
    assert!(matches!(error, ArchiveError::Damaged { .. }), "{error:?}");
}

#[test]
fn a_02_two_writers_wait_for_each_other() {
    let folder = folder();
    // Both may also be the one that makes the archive.
    let path = folder.path().join("a.sqlite");
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let path = &path;
            scope.spawn(move || {
                let mut archive = Sqlite::open(path).unwrap();
                for deposit in 0..10 {
                    let lines = [format!("shared {deposit}"), format!("{writer} {deposit}")];
                    for line in &lines {
                        archive.put_original(&removed(line.as_bytes(), "u")).unwrap();
                    }
                    archive.put_operation(&operation(&lines[1], lines[1].as_bytes())).unwrap();
                    archive.commit().unwrap();
                    assert!(archive.line(Digest::of(lines[1].as_bytes())).unwrap().is_some());
                }
            });
        }
    });
    let counts = ["body", "original", "operation"].map(|table| count(&path, table));
    assert_eq!(counts, [50, 50, 40]);
}

#[test]
fn a_02_a_reader_is_never_held_up_by_a_writer() {
    let folder = folder();
    let path = folder.path().join("a.sqlite");
    let mut writer = Sqlite::open(&path).unwrap();
    let line = writer.put_original(&removed(b"line", "u")).unwrap();
    let reader = Sqlite::open(&path).unwrap();
    assert_eq!(reader.line(line).unwrap(), None);
    writer.commit().unwrap();
    assert!(reader.line(line).unwrap().is_some());
}

/// Not a test of its own: the other process of the next one. Its input is the path of the archive.
#[test]
#[ignore = "started by a_03_a_killed_process_leaves_whole_deposits_alone"]
fn other_process() {
    let mut path = String::new();
    std::io::stdin().read_to_string(&mut path).unwrap();
    let mut archive = Sqlite::open(Path::new(&path)).unwrap();
    archive.put_original(&removed(b"committed", "u")).unwrap();
    archive.commit().unwrap();
    archive.put_original(&removed(b"not committed", "u")).unwrap();
    std::process::abort();
}

#[test]
fn a_03_a_killed_process_leaves_whole_deposits_alone() {
    let folder = folder();
    let path = folder.path().join("a.sqlite");
    let ours = Sqlite::open(&path).unwrap();
    let mut other = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "archive::sqlite::tests::other_process"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    other.stdin.take().unwrap().write_all(path.to_str().unwrap().as_bytes()).unwrap();
    assert!(!other.wait().unwrap().success());
    for archive in [&ours, &Sqlite::open(&path).unwrap()] {
        assert!(archive.line(Digest::of(b"committed")).unwrap().is_some());
        assert_eq!(archive.line(Digest::of(b"not committed")).unwrap(), None);
    }
}

/// A file system of `options` that is there as long as the value is; `None` where this user may not mount one.
#[cfg(target_os = "linux")]
struct Mount(tempfile::TempDir);

#[cfg(target_os = "linux")]
impl Mount {
    fn tmpfs(size: &str) -> Option<Self> {
        let mount = Self(folder());
        let status = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"])
            .arg(mount.0.path())
            .stderr(Stdio::null())
            .status();
        if status.is_ok_and(|status| status.success()) {
            return Some(mount);
        }
        eprintln!("skipped: this user may not mount a file system");
        None
    }

    fn make_read_only(&self) {
        let status = Command::new("mount").args(["-o", "remount,ro"]).arg(self.0.path()).status();
        assert!(status.unwrap().success());
    }
}

#[cfg(target_os = "linux")]
impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0.path()).status();
    }
}

// S-08
#[cfg(target_os = "linux")]
#[test]
fn a_03_a_full_disk_is_said_and_loses_nothing_committed() {
    let Some(mount) = Mount::tmpfs("2m") else { return };
    let path = mount.0.path().join("a.sqlite");
    let mut archive = Sqlite::open(&path).unwrap();
    let kept = archive.put_original(&removed(b"kept", "u")).unwrap();
    archive.commit().unwrap();

    let mut line = vec![0_u8; 100_000];
    let mut state = 1_u32;
    let mut fill = || -> Result<(), ArchiveError> {
        for _ in 0..100 {
            // Numbers that no compressor shrinks.
            for byte in &mut line {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                *byte = (state >> 24) as u8;
            }
            archive.put_original(&removed(&line, "u"))?;
        }
        archive.commit()
    };
    let error = fill().unwrap_err();
    assert!(matches!(error, ArchiveError::DiskFull { .. }), "{error:?}");
    assert!(matches!(archive.commit(), Err(ArchiveError::BrokenDeposit)));
    archive.rollback().unwrap();
    assert!(archive.line(kept).unwrap().is_some());
    archive.put_original(&removed(b"small", "u")).unwrap();
    archive.commit().unwrap();
    assert_eq!(archive.originals_of("u").unwrap().len(), 2);
}

#[cfg(target_os = "linux")]
#[test]
fn a_03_a_disk_without_room_for_an_archive_is_said() {
    let Some(mount) = Mount::tmpfs("8k") else { return };
    let error = Sqlite::open(&mount.0.path().join("a.sqlite")).err().unwrap();
    assert!(matches!(error, ArchiveError::DiskFull { .. }), "{error:?}");
    assert_eq!(fs::read_dir(mount.0.path()).unwrap().count(), 0, "nothing is left behind");
}

#[cfg(target_os = "linux")]
#[test]
fn a_03_a_read_only_folder_is_said() {
    let Some(mount) = Mount::tmpfs("2m") else { return };
    let path = mount.0.path().join("a.sqlite");
    drop(Sqlite::open(&path).unwrap());
    mount.make_read_only();
    let error = Sqlite::open(&path).and_then(|mut archive| archive.put_original(&removed(b"", "u"))).unwrap_err();
    assert!(matches!(error, ArchiveError::NotWritable { .. }), "{error:?}");
    let error = Sqlite::open(&mount.0.path().join("new.sqlite")).err().unwrap();
    assert!(matches!(error, ArchiveError::Create { .. }), "{error:?}");
}

#[test]
fn a_02_a_writer_that_never_lets_go_is_said() {
    let folder = folder();
    let path = folder.path().join("a.sqlite");
    let mut archive = Sqlite::open(&path).unwrap();
    let holder = Connection::open(&path).unwrap();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    archive.wait_no_longer().unwrap();
    let error = archive.put_original(&removed(b"line", "u")).unwrap_err();
    assert!(matches!(error, ArchiveError::Locked { .. }), "{error:?}");
    holder.execute_batch("COMMIT").unwrap();
    archive.put_original(&removed(b"line", "u")).unwrap();
    archive.commit().unwrap();
}
