//! Tool results that are too long for a transcript. The client keeps them in `<session>/tool-results`, and sends a preview that
//! names the file.

use std::path::{Path, PathBuf};

use super::candidate::Candidate;
use super::listing::{candidate_at, is_uuid, list_paths, sidecar_dir};

/// The folder of saved tool results, within the folder beside the session.
const FOLDER: &str = "tool-results";

/// The saved tool results of the session in the file `transcript`, in no order. A folder that cannot be listed has none.
#[must_use]
pub fn saved_outputs(transcript: &Path) -> Vec<Candidate> {
    let paths = list_paths(&sidecar_dir(transcript).join(FOLDER)).unwrap_or_default();
    paths.into_iter().filter(|path| session_of_saved_output(path).is_some()).filter_map(candidate_at).collect()
}

/// The file of the session whose saved tool result is at `path`; `None` where there is none by its name.
#[must_use]
pub fn session_of_saved_output(path: &Path) -> Option<PathBuf> {
    let folder = path.parent().filter(|folder| folder.ends_with(FOLDER))?.parent()?;
    let is_text = path.extension().is_some_and(|extension| extension == "txt");
    let is_session = folder.file_name().and_then(|name| name.to_str()).is_some_and(is_uuid);
    (is_text && is_session).then(|| folder.with_extension("jsonl"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn l_08_saved_outputs_are_text_files_in_the_folder_of_a_session() {
        const SESSION: &str = "/p/aaaa1111-0000-4000-8000-000000000000";
        for (path, is_one) in [
            (format!("{SESSION}/tool-results/toolu_1.txt"), true),
            (format!("{SESSION}/tool-results/toolu_1.json"), false),
            (format!("{SESSION}/toolu_1.txt"), false),
            ("/p/notes/tool-results/toolu_1.txt".to_owned(), false),
        ] {
            let session = session_of_saved_output(Path::new(&path));
            assert_eq!(session, is_one.then(|| PathBuf::from(format!("{SESSION}.jsonl"))), "{path}");
        }
    }
}
