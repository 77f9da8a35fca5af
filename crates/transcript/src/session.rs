//! Looking a SESSION argument up: a path, a session id or the beginning of one, `latest`, or `-`.
//!
//! In: the argument and the [`Places`] to look in. Out: what was [`Found`], or an error with the candidates.
//! Reads folders and file times, never a transcript; knows nothing of the environment.

mod subagent;

pub use subagent::{session_of_subagent, subagent_id, subagents_of_all_projects, subagents_of_project};

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use std::{fs, io};

/// The longest project folder name that carries no hash, in characters.
const MAX_FOLDER_NAME: usize = 200;

/// How many candidates an error carries.
const MAX_CANDIDATES: usize = 10;

/// Where sessions are looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    /// The folder that holds one folder for each project.
    pub projects: PathBuf,
    /// The current folder with its links resolved; it says which project is the current one.
    pub cwd: PathBuf,
}

/// The session that a SESSION argument names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// Standard input.
    StandardInput,
    /// A file.
    File {
        /// Its path; for a path argument as it was given.
        path: PathBuf,
        /// How it was found.
        by: FoundBy,
    },
}

impl Found {
    /// The path of the file; none for standard input.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::StandardInput => None,
            Self::File { path, .. } => Some(path),
        }
    }
}

/// How a session file was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FoundBy {
    /// By its path.
    Path,
    /// By its id, or by the only id that begins so.
    Id,
    /// As the newest session of the current project.
    LatestHere,
    /// As the newest session of all projects, for the current one has none.
    LatestAnywhere,
}

/// A session that may have been meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The session's file.
    pub path: PathBuf,
    /// When it was last written.
    pub modified: SystemTime,
    /// Its length in bytes.
    pub len: u64,
}

/// Why a SESSION argument stands for nothing. The messages fit after "cannot"; candidates stand newest first.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// Neither a file nor the beginning of an id.
    #[error("find the session {name:?}: no such file, and no session id under {} starts with it", projects.display())]
    Unknown {
        /// The argument.
        name: String,
        /// The folder that was searched.
        projects: PathBuf,
        /// The newest sessions, of the current project if it has any.
        candidates: Vec<Candidate>,
    },
    /// The beginning of several ids, or an id that several projects have.
    #[error("choose a session: {n_matches} ids match {name:?}")]
    Ambiguous {
        /// The argument.
        name: String,
        /// How many sessions match.
        n_matches: usize,
        /// The newest of them.
        candidates: Vec<Candidate>,
    },
    /// This project has no session, or not so many.
    #[error("find a session: {}", no_session_here(*place))]
    NoneHere {
        /// The place of the one that was asked for among the newest, from 1.
        place: usize,
    },
    /// `latest`, and there is no session at all.
    #[error("find a session: there are none under {}", projects.display())]
    NoSessions {
        /// The folder that was searched.
        projects: PathBuf,
    },
    /// The path of a folder.
    #[error("read {}: it is a folder", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The newest sessions in it.
        candidates: Vec<Candidate>,
    },
    /// A folder that exists and cannot be listed.
    #[error("list {}", path.display())]
    Unreadable {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl SessionError {
    /// The sessions that may have been meant, newest first; at most ten.
    #[must_use]
    pub fn candidates(&self) -> &[Candidate] {
        match self {
            Self::Unknown { candidates, .. } | Self::Ambiguous { candidates, .. } | Self::Folder { candidates, .. } => {
                candidates
            }
            Self::NoneHere { .. } | Self::NoSessions { .. } | Self::Unreadable { .. } => &[],
        }
    }
}

fn no_session_here(place: usize) -> String {
    match place {
        1 => "this project has none".to_owned(),
        _ => format!("this project has fewer than {place}"),
    }
}

/// The newest session of the current project but `place - 1`, never one of another project (W-05).
///
/// # Errors
/// When there are not so many, or a folder cannot be listed.
pub fn newest(place: usize, places: &Places) -> Result<Found, SessionError> {
    let mut sessions = of_project(places)?.into_iter();
    let wanted = place.checked_sub(1).and_then(|place| sessions.nth(place));
    wanted.map(|it| Found::File { path: it.path, by: FoundBy::LatestHere }).ok_or(SessionError::NoneHere { place })
}

/// What `name` stands for.
///
/// `-` and `latest` are words of their own, and so is `@-2` for the session before the newest of this project (`./latest` is a file). Else a file that exists wins over an id, and the
/// current project over the others. Only files named after a UUID count as sessions for ids and `latest`, as for
/// the client itself; any other, such as a subagent's, is reached by its path.
///
/// # Errors
/// When nothing or more than one session matches, or a folder cannot be listed.
pub fn find(name: impl AsRef<OsStr>, places: &Places) -> Result<Found, SessionError> {
    let name = name.as_ref();
    match name.to_str() {
        Some("-") => Ok(Found::StandardInput),
        Some("latest") => find_latest(places),
        Some(text) if text.strip_prefix("@-").is_some_and(|place| place.parse::<usize>().is_ok()) => {
            newest(text.get(2..).and_then(|place| place.parse().ok()).unwrap_or_default(), places)
        }
        _ => find_named(name, places),
    }
}

/// The folder beside `transcript` in which the client keeps its subagents and large tool results.
#[must_use]
pub fn sidecar_dir(transcript: &Path) -> PathBuf {
    transcript.with_extension("")
}

/// The session id that the name of `transcript` carries, if it is one that the client would list.
#[must_use]
pub fn session_id(transcript: &Path) -> Option<&str> {
    let is_jsonl = transcript.extension().is_some_and(|extension| extension == "jsonl");
    let stem = transcript.file_stem()?.to_str()?;
    (is_jsonl && is_uuid(stem)).then_some(stem)
}

/// The name of the project folder for a project at `cwd`: every UTF-16 unit that is no ASCII letter or digit becomes
/// `-`. Names over 200 characters are cut there; the client adds `-` and a hash, which readers match by prefix. A path of
/// Windows in its extended-length form, `\\\\?\\C:\\shop`, has the name of its plain one, which the client sees.
#[must_use]
pub fn project_folder_name(cwd: &Path) -> String {
    let encode = |c: char| {
        let replaced = if c.is_ascii_alphanumeric() { c } else { '-' };
        std::iter::repeat_n(replaced, c.len_utf16())
    };
    let cwd = cwd.to_string_lossy();
    let (share, plain) = match (cwd.strip_prefix(r"\\?\UNC\"), cwd.strip_prefix(r"\\?\")) {
        (Some(share), _) => (r"\\", share),
        (None, Some(plain)) => ("", plain),
        (None, None) => ("", &*cwd),
    };
    share.chars().chain(plain.chars()).flat_map(encode).take(MAX_FOLDER_NAME + 1).collect()
}

/// The sessions of the project at `places.cwd`, newest first.
///
/// # Errors
/// When a folder cannot be listed.
pub fn of_project(places: &Places) -> Result<Vec<Candidate>, SessionError> {
    Ok(newest_first(sessions_in(&current_project(places)?)?))
}

/// The sessions of all projects, newest first.
///
/// # Errors
/// When a folder cannot be listed.
pub fn of_all_projects(places: &Places) -> Result<Vec<Candidate>, SessionError> {
    Ok(newest_first(sessions_in(&all_projects(places)?)?))
}

/// The folder of the project at `places.cwd`, whether or not it is there; `None` where its name is too long to be known
/// before the client has made it.
///
/// # Errors
/// When a folder cannot be listed.
pub fn project_folder(places: &Places) -> Result<Option<PathBuf>, SessionError> {
    Ok(current_project(places)?.into_iter().next())
}

fn find_latest(places: &Places) -> Result<Found, SessionError> {
    for (folders, by) in
        [(current_project(places)?, FoundBy::LatestHere), (all_projects(places)?, FoundBy::LatestAnywhere)]
    {
        if let Some(newest) = newest_first(sessions_in(&folders)?).into_iter().next() {
            return Ok(Found::File { path: newest.path, by });
        }
    }
    Err(SessionError::NoSessions { projects: places.projects.clone() })
}

fn find_named(name: &OsStr, places: &Places) -> Result<Found, SessionError> {
    let path = Path::new(name);
    if path.is_dir() {
        let candidates = newest_few(sessions_in(&[path.to_owned()])?);
        return Err(SessionError::Folder { path: path.to_owned(), candidates });
    }
    if path.exists() {
        return Ok(Found::File { path: path.to_owned(), by: FoundBy::Path });
    }

    // An id is text; a name of other bytes can only be that of a file.
    let name = name.to_string_lossy().into_owned();
    let here = sessions_in(&current_project(places)?)?;
    if let Some(path) = only_match(&name, &here)? {
        return Ok(Found::File { path, by: FoundBy::Id });
    }
    let anywhere = sessions_in(&all_projects(places)?)?;
    if let Some(path) = only_match(&name, &anywhere)? {
        return Ok(Found::File { path, by: FoundBy::Id });
    }
    let candidates = newest_few(if here.is_empty() { anywhere } else { here });
    Err(SessionError::Unknown { name, projects: places.projects.clone(), candidates })
}

/// The one session whose id begins with `prefix`, in any case; nothing where none does.
fn only_match(prefix: &str, sessions: &[Candidate]) -> Result<Option<PathBuf>, SessionError> {
    let mut matches = matching(prefix, sessions);
    if matches.len() > 1 {
        let n_matches = matches.len();
        return Err(SessionError::Ambiguous { name: prefix.to_owned(), n_matches, candidates: newest_few(matches) });
    }
    Ok(matches.pop().map(|session| session.path))
}

/// The sessions whose id begins with `prefix`, in any case.
fn matching(prefix: &str, sessions: &[Candidate]) -> Vec<Candidate> {
    let begins_so = |session: &&Candidate| {
        session_id(&session.path).is_some_and(|id| {
            id.as_bytes().get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix.as_bytes()))
        })
    };
    if prefix.is_empty() { Vec::new() } else { sessions.iter().filter(begins_so).cloned().collect() }
}

/// The folders of the current project: those of the current folder, or of the nearest folder above it that has sessions.
/// What lies above a repository, and the folder that holds those of the client, are no project of what is below them.
fn current_project(places: &Places) -> Result<Vec<PathBuf>, SessionError> {
    for folder in places.cwd.ancestors() {
        let is_above = folder != places.cwd;
        if is_above && (folder.parent().is_none() || places.projects.starts_with(folder)) {
            break;
        }
        let folders = project_at(folder, places)?;
        if folders.iter().any(|folder| sessions_in(std::slice::from_ref(folder)).is_ok_and(|it| !it.is_empty())) {
            return Ok(folders);
        }
        if folder.join(".git").exists() {
            break;
        }
    }
    project_at(&places.cwd, places)
}

/// The folders of the project at `cwd`: none or one, or several where a long name is known by its beginning only.
fn project_at(cwd: &Path, places: &Places) -> Result<Vec<PathBuf>, SessionError> {
    let name = project_folder_name(cwd);
    if name.len() <= MAX_FOLDER_NAME {
        return Ok(vec![places.projects.join(name)]);
    }
    // The name has one unit too many, which tells that it was cut; on the disk a `-` and the hash stand there.
    let prefix = format!("{}-", name.get(..MAX_FOLDER_NAME).unwrap_or_default());
    let is_ours = |folder: &PathBuf| {
        folder.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(prefix.as_bytes()))
    };
    Ok(all_projects(places)?.into_iter().filter(is_ours).collect())
}

fn all_projects(places: &Places) -> Result<Vec<PathBuf>, SessionError> {
    let mut folders: Vec<PathBuf> = list(&places.projects)?.into_iter().filter(|path| path.is_dir()).collect();
    folders.sort();
    Ok(folders)
}

fn sessions_in(folders: &[PathBuf]) -> Result<Vec<Candidate>, SessionError> {
    let mut sessions = Vec::new();
    for folder in folders {
        for path in list(folder)?.into_iter().filter(|path| session_id(path).is_some()) {
            sessions.extend(candidate(path));
        }
    }
    Ok(sessions)
}

/// What lies at `path`. A file that went away since its folder was listed is no session any more. A pipe or a device of
/// that name is none either: to open it could wait for ever (X-03).
fn candidate(path: PathBuf) -> Option<Candidate> {
    let metadata = fs::metadata(&path).ok()?;
    let modified = metadata.modified().ok().filter(|_| metadata.is_file())?;
    Some(Candidate { path, modified, len: metadata.len() })
}

/// What is in `folder`, in no order; nothing where there is no such folder.
fn list(folder: &Path) -> Result<Vec<PathBuf>, SessionError> {
    let entries = fs::read_dir(folder).and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect());
    match entries {
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(Vec::new()),
        Err(source) => Err(SessionError::Unreadable { path: folder.to_owned(), source }),
        Ok(paths) => Ok(paths),
    }
}

/// Newest first, and by path where two are equally old, so that equal folders give equal answers.
fn newest_first(mut sessions: Vec<Candidate>) -> Vec<Candidate> {
    sessions.sort_by(|a, b| b.modified.cmp(&a.modified).then_with(|| a.path.cmp(&b.path)));
    sessions
}

fn newest_few(sessions: Vec<Candidate>) -> Vec<Candidate> {
    let mut sessions = newest_first(sessions);
    sessions.truncate(MAX_CANDIDATES);
    sessions
}

/// Whether `text` has the form 8-4-4-4-12 of hexadecimal digits, in any case.
fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tempfile::TempDir;

    const A1: &str = "aaaa1111-0000-4000-8000-000000000000";
    const A2: &str = "aaaa2222-0000-4000-8000-000000000000";
    const B: &str = "bbbb0000-0000-4000-8000-000000000000";

    struct Home {
        dir: TempDir,
        places: Places,
    }

    impl Home {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            let places = Places { projects: dir.path().join("projects"), cwd: PathBuf::from("/src/here") };
            Self { dir, places }
        }

        /// A session of project `cwd` that was last written `age` seconds ago.
        fn session(&self, cwd: &str, name: &str, age: u64) -> PathBuf {
            self.session_in(&project_folder_name(Path::new(cwd)), name, age)
        }

        fn session_in(&self, folder: &str, name: &str, age: u64) -> PathBuf {
            let folder = self.places.projects.join(folder);
            fs::create_dir_all(&folder).unwrap();
            let path = folder.join(format!("{name}.jsonl"));
            let file = fs::File::create(&path).unwrap();
            let then = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000 - age);
            file.set_modified(then).unwrap();
            path
        }

        fn find(&self, name: &str) -> Result<Found, SessionError> {
            find(name, &self.places)
        }
    }

    fn file(path: &Path, by: FoundBy) -> Found {
        Found::File { path: path.to_owned(), by }
    }

    // T-06
    #[test]
    fn a_dash_is_standard_input() {
        assert_eq!(Home::new().find("-").unwrap(), Found::StandardInput);
    }

    // T-06
    #[test]
    fn a_unique_prefix_is_enough_in_any_case() {
        let home = Home::new();
        let a1 = home.session("/src/here", A1, 5);
        home.session("/src/here", A2, 5);
        assert_eq!(home.find("aaaa1").unwrap(), file(&a1, FoundBy::Id));
        assert_eq!(home.find("AAAA11").unwrap(), file(&a1, FoundBy::Id));
        assert_eq!(home.find(A1).unwrap(), file(&a1, FoundBy::Id));
    }

    // T-06
    #[test]
    fn the_current_project_comes_first() {
        let home = Home::new();
        let here = home.session("/src/here", A1, 50);
        home.session("/src/there", A2, 5);
        let there = home.session("/src/there", B, 5);
        assert_eq!(home.find("aaaa").unwrap(), file(&here, FoundBy::Id));
        assert_eq!(home.find("bbbb").unwrap(), file(&there, FoundBy::Id));
        assert_eq!(home.find("latest").unwrap(), file(&here, FoundBy::LatestHere));
    }

    // T-06
    #[test]
    fn latest_looks_everywhere_when_the_current_project_has_no_session() {
        let home = Home::new();
        home.session("/src/there", A1, 50);
        let newest = home.session("/src/elsewhere", A2, 5);
        home.session("/src/here", "agent-a1b2c3", 1);
        assert_eq!(home.find("latest").unwrap(), file(&newest, FoundBy::LatestAnywhere));
        assert!(matches!(Home::new().find("latest"), Err(SessionError::NoSessions { .. })));
    }

    // W-05
    #[test]
    fn w_05_a_subfolder_belongs_to_the_project_above_it_and_no_other() {
        let mut home = Home::new();
        let project = home.dir.path().join("shop");
        let below = project.join("src/parser");
        fs::create_dir_all(&below).unwrap();
        let older = home.session(project.to_str().unwrap(), A1, 50);
        let newer = home.session(project.to_str().unwrap(), A2, 5);
        home.session("/src/there", B, 1);
        home.places.cwd.clone_from(&below);
        assert_eq!(newest(1, &home.places).unwrap(), file(&newer, FoundBy::LatestHere));
        assert_eq!(home.find("@-2").unwrap(), file(&older, FoundBy::LatestHere));
        for name in ["@-3", "@-0"] {
            assert!(matches!(home.find(name), Err(SessionError::NoneHere { .. })), "{name}");
        }
        // A repository of its own is no part of what lies above it.
        fs::create_dir_all(below.join(".git")).unwrap();
        assert!(matches!(newest(1, &home.places), Err(SessionError::NoneHere { place: 1 })));
    }

    // T-06
    #[test]
    fn an_unknown_name_lists_the_newest_sessions() {
        let home = Home::new();
        let old = home.session("/src/here", A1, 50);
        let new = home.session("/src/here", A2, 5);
        home.session("/src/there", B, 1);
        for name in ["cccc", "", "no/such/file.jsonl", "ä", "agent-a1b2c3"] {
            let error = home.find(name).unwrap_err();
            assert!(matches!(&error, SessionError::Unknown { .. }), "{name:?}: {error}");
            let paths: Vec<_> = error.candidates().iter().map(|candidate| &candidate.path).collect();
            assert_eq!(paths, [&new, &old], "{name:?}");
        }
    }

    // T-06
    #[test]
    fn an_ambiguous_name_lists_what_it_matches() {
        let home = Home::new();
        home.session("/src/here", A1, 50);
        home.session("/src/here", A2, 5);
        home.session("/src/here", B, 5);
        let error = home.find("aaaa").unwrap_err();
        assert!(matches!(&error, SessionError::Ambiguous { n_matches: 2, .. }), "{error}");
        assert_eq!(error.candidates().len(), 2);
        home.session("/src/one", "cccc0000-0000-4000-8000-000000000000", 5);
        home.session("/src/two", "cccc0000-0000-4000-8000-000000000000", 5);
        assert!(matches!(home.find("cccc"), Err(SessionError::Ambiguous { n_matches: 2, .. })));
    }

    // T-06
    #[test]
    fn a_path_that_exists_wins_over_an_id() {
        let home = Home::new();
        home.session("/src/here", A1, 5);
        let agent = home.session("/src/here", "agent-a1b2c3", 5);
        assert_eq!(home.find(agent.to_str().unwrap()).unwrap(), file(&agent, FoundBy::Path));
        let error = home.find(home.places.projects.to_str().unwrap()).unwrap_err();
        assert!(matches!(error, SessionError::Folder { .. }), "{error}");
        drop(home.dir);
    }

    // T-06, S-10, format.md 1
    #[test]
    fn project_folders_are_named_as_the_client_names_them() {
        let cases = [
            ("/home/ann/my_app.v2", "-home-ann-my-app-v2"),
            ("/a b/é", "-a-b--"),
            ("/😀", "---"),
            (r"C:\Users\ann", "C--Users-ann"),
            (r"\\?\C:\Users\ann", "C--Users-ann"),
            (r"\\server\team\ann", "--server-team-ann"),
            (r"\\?\UNC\server\team\ann", "--server-team-ann"),
        ];
        for (cwd, folder) in cases {
            assert_eq!(project_folder_name(Path::new(cwd)), folder, "{cwd}");
        }
    }

    // T-06, format.md 1
    #[test]
    fn a_long_project_folder_is_known_by_its_beginning() {
        let mut home = Home::new();
        let long = format!("/{}", "x".repeat(250));
        let folder = format!("-{}-1a2b3c", "x".repeat(199));
        let session = home.session_in(&folder, A1, 5);
        home.session("/src/there", A2, 1);
        home.places.cwd = PathBuf::from(long);
        assert_eq!(home.find("latest").unwrap(), file(&session, FoundBy::LatestHere));
    }

    #[test]
    fn the_sidecar_folder_has_the_name_of_the_session() {
        assert_eq!(sidecar_dir(Path::new("/p/abc.jsonl")), Path::new("/p/abc"));
        assert_eq!(session_id(Path::new("/p/abc.jsonl")), None);
        assert_eq!(session_id(Path::new(&format!("/p/{A1}.jsonl"))), Some(A1));
        assert_eq!(session_id(Path::new(&format!("/p/{A1}.bak"))), None);
    }
}
