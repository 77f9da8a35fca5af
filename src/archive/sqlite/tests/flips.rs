//! A small archive with any one byte changed.

use std::collections::hash_map::RandomState;
use std::fs;
use std::hash::BuildHasher;

use super::place::folder;
use crate::archive::sqlite::Sqlite;
use crate::archive::{Archive, ArchiveError, LineId, Object, ObjectKind};
use crate::text::Digest;

/// How many bytes lie between those that are changed; the first is a random one.
const STEP: u32 = 211;

fn lines() -> Vec<Vec<u8>> {
    (0..60_u32)
        .map(|n| format!("{{\"n\":{n},\"digest\":\"{}\"}}\n", Digest::of(&n.to_le_bytes())).repeat(1 + n as usize % 3))
        .map(String::into_bytes)
        .collect()
}

/// Reads all that the archive holds, and finds each thing as it was put, missing, or refused.
fn read(archive: &dyn Archive, lines: &[Vec<u8>], ids: &[LineId], objects: &[Object]) -> Result<(), ArchiveError> {
    for object in objects {
        if let Ok(Some(found)) = archive.object(object.kind, object.key) {
            assert_eq!(found, *object);
        }
        for found in [archive.objects_of(object.kind, object.group.unwrap()), archive.object_keys(object.kind)] {
            for (key, head) in found.unwrap_or_default() {
                assert!(objects.iter().any(|object| (object.key, &object.head) == (key, &head)), "{key}");
            }
        }
    }
    for (line, id) in lines.iter().zip(ids) {
        let _refused = archive.each_line(&[*id], &mut |_, found| {
            assert_eq!(found, line);
            Ok(())
        });
        if let Ok(Some(found)) = archive.line(Digest::of(line)) {
            assert_eq!(found, *line);
        }
    }
    let mut expected = lines.iter();
    archive.each_line(ids, &mut |_, found| {
        assert_eq!(Some(found), expected.next().map(Vec::as_slice));
        Ok(())
    })
}

#[test]
fn n_01_no_flipped_byte_makes_wrong_bytes() {
    let folder = folder();
    let path = folder.path().join("a.sqlite");
    let lines = lines();
    let mut archive = Sqlite::open(&path).unwrap();
    let mut ids = Vec::new();
    let mut objects = Vec::new();
    for (n, part) in lines.chunks(12).enumerate() {
        let put: Vec<_> = part.iter().map(|line| (Digest::of(line), line.as_slice())).collect();
        ids.extend(archive.put_lines(&put).unwrap());
        let object = Object {
            kind: ObjectKind::ALL[n % 2],
            key: Digest::of(&[n.to_le_bytes()[0]]),
            group: Some(Digest::of(b"group")),
            head: vec![n.to_le_bytes()[0]; 20],
            lines: ids.clone(),
            content: part.concat(),
        };
        archive.put_object(&object).unwrap();
        archive.commit().unwrap();
        objects.push(object);
    }
    drop(archive);
    let whole = fs::read(&path).unwrap();
    read(&Sqlite::open(&path).unwrap(), &lines, &ids, &objects).unwrap();

    let seed = std::env::var("CTXC_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed: u32 =
        seed.unwrap_or_else(|| Digest::of(&RandomState::new().hash_one(0).to_le_bytes()).as_bytes()[0].into());
    println!("CTXC_SEED={seed}");
    let (mut n_refused, mut n_flipped) = (0, 0);
    for place in
        (seed % STEP..).step_by(STEP as usize).map(|place| place as usize).take_while(|place| *place < whole.len())
    {
        let mut damaged = whole.clone();
        damaged[place] ^= 1 << ((seed as usize + place / STEP as usize) % 8);
        let path = folder.path().join("damaged.sqlite");
        fs::write(&path, damaged).unwrap();
        n_flipped += 1;
        n_refused += u64::from(Sqlite::open(&path).and_then(|it| read(&it, &lines, &ids, &objects)).is_err());
    }
    assert!(n_refused > 0, "none of {n_flipped} was noticed");
}
