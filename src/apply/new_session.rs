//! A new session: the same conversation under an id of its own, so that the source stays as it was (S-01).

use crate::text::json_string;

/// The session that a rewrite makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewSession {
    /// Its id, a UUID.
    pub id: String,
}

/// The entry that gives the session `id` a title, by which the client's picker finds it.
#[must_use]
pub fn title_line(id: &str, title: &str) -> String {
    let (title, id) = (json_string::encode(title), json_string::encode(id));
    format!(r#"{{"type":"custom-title","customTitle":{title},"sessionId":{id}}}"#)
}
