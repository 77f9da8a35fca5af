//! The keys of the configuration.

/// The sources that may set a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// All, including the `ctxc.toml` of a project.
    Anywhere,
    /// All, but a project only to less than the user's value or the default: a cloned repository must not make calls by the
    /// hundred.
    Lowers,
    /// All, but a project only to more than the user's value or the default, if there is one: a cloned repository must not make
    /// ctxc cut deeper than its user wants (L-14).
    Raises,
    /// All, and the list of a project is added to that of the user.
    Adds,
    /// The user alone: a cloned repository must not decide where a transcript is sent.
    Personal,
}

/// The form of a value in an environment variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValueForm {
    Text,
    Number,
    /// Items separated by commas.
    List,
    /// The path of a file; in a configuration file it is relative to that file.
    Path,
    /// The key of a server, which is never shown: itself, or `env:NAME` for a variable that has it.
    Secret,
    /// None: it can only be set in a file.
    FileOnly,
}

/// A key; one in a section has the name of the section before it, such as `summarization.engine`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Key {
    pub(super) name: &'static str,
    pub(super) scope: Scope,
    pub(super) form: ValueForm,
}

/// Whether ctxc reads the variable called `name`.
pub(in crate::cli) fn is_variable(name: &str) -> bool {
    /// Variables that do not belong to a key of the configuration; users choose the names in `env:NAME` themselves.
    const OTHERS: [&str; 4] = ["CTXC_BLESS", "CTXC_CORPUS", "CTXC_SEED", "CTXC_SEQUENCES"];
    OTHERS.contains(&name)
        || name.starts_with("CTXC_TEST_")
        || KEYS.iter().any(|key| name.strip_prefix("CTXC_") == Some(&key.name.replace('.', "_").to_uppercase()))
}

/// All keys, in the order of `ctxc config`.
pub(super) const KEYS: [Key; 44] = [
    Key { name: "archive", scope: Scope::Personal, form: ValueForm::Text },
    // Consent can only be given in the user's own file.
    Key { name: "keep_on_server", scope: Scope::Personal, form: ValueForm::FileOnly },
    Key { name: "codex_in_place", scope: Scope::Personal, form: ValueForm::FileOnly },
    // A project could drown the warning by making it permanent.
    Key { name: "keep_max", scope: Scope::Personal, form: ValueForm::Text },
    Key { name: "engine", scope: Scope::Personal, form: ValueForm::Text },
    Key { name: "base_url", scope: Scope::Personal, form: ValueForm::Text },
    Key { name: "api_key", scope: Scope::Personal, form: ValueForm::Secret },
    Key { name: "model", scope: Scope::Personal, form: ValueForm::Text },
    Key { name: "large_model", scope: Scope::Personal, form: ValueForm::Text },
    Key { name: "max_cost", scope: Scope::Personal, form: ValueForm::Number },
    Key { name: "concurrency", scope: Scope::Lowers, form: ValueForm::Number },
    Key { name: "attempts", scope: Scope::Lowers, form: ValueForm::Number },
    Key { name: "timeout", scope: Scope::Lowers, form: ValueForm::Number },
    Key { name: "timeout_step", scope: Scope::Lowers, form: ValueForm::Number },
    Key { name: "rpm", scope: Scope::Lowers, form: ValueForm::Number },
    Key { name: "tokens", scope: Scope::Anywhere, form: ValueForm::Text },
    Key { name: "min_tokens", scope: Scope::Raises, form: ValueForm::Number },
    Key { name: "protect_turns", scope: Scope::Raises, form: ValueForm::Number },
    Key { name: "protect_steps", scope: Scope::Raises, form: ValueForm::Number },
    Key { name: "protected_tools", scope: Scope::Adds, form: ValueForm::List },
    Key { name: "protected_files", scope: Scope::Adds, form: ValueForm::List },
    Key { name: "context_window", scope: Scope::Raises, form: ValueForm::Number },
    Key { name: "threshold", scope: Scope::Raises, form: ValueForm::Number },
    Key { name: "headroom", scope: Scope::Raises, form: ValueForm::Number },
    // A price affects the limit of costs.
    Key { name: "prices", scope: Scope::Personal, form: ValueForm::FileOnly },
    Key { name: "summarization.engine", scope: Scope::Personal, form: ValueForm::Text },
    Key { name: "summarization.base_url", scope: Scope::Personal, form: ValueForm::Text },
    Key { name: "summarization.api_key", scope: Scope::Personal, form: ValueForm::Secret },
    Key { name: "summarization.model", scope: Scope::Personal, form: ValueForm::Text },
    Key { name: "summarization.chunk_size", scope: Scope::Lowers, form: ValueForm::Number },
    Key { name: "summarization.keep_recent", scope: Scope::Raises, form: ValueForm::Number },
    Key { name: "summarization.max_summary_tokens", scope: Scope::Raises, form: ValueForm::Number },
    Key { name: "summarization.clip_first", scope: Scope::Raises, form: ValueForm::Number },
    Key { name: "summarization.clip_last", scope: Scope::Raises, form: ValueForm::Number },
    Key { name: "summarization.context_budget", scope: Scope::Raises, form: ValueForm::Number },
    // A prompt decides what a model does with a transcript.
    Key { name: "summarization.prompt", scope: Scope::Personal, form: ValueForm::Path },
    Key { name: "summarization.persona", scope: Scope::Personal, form: ValueForm::Text },
    Key { name: "embeddings.base_url", scope: Scope::Personal, form: ValueForm::Text },
    Key { name: "embeddings.model", scope: Scope::Personal, form: ValueForm::Text },
    Key { name: "embeddings.api_key", scope: Scope::Personal, form: ValueForm::Secret },
    Key { name: "client.target", scope: Scope::Raises, form: ValueForm::Number },
    // Only the user decides about automatic actions.
    Key { name: "client.auto", scope: Scope::Personal, form: ValueForm::Text },
    // Only the user decides whether complete sessions are stored.
    Key { name: "client.keep", scope: Scope::Personal, form: ValueForm::FileOnly },
    // The instructions end up in a conversation, which a cloned repository must not influence.
    Key { name: "client.instructions", scope: Scope::Personal, form: ValueForm::FileOnly },
];

impl Key {
    pub(super) fn named(name: &str) -> Option<Self> {
        KEYS.into_iter().find(|key| key.name == name)
    }

    /// The environment variable that sets the key.
    pub(super) fn variable(self) -> String {
        format!("CTXC_{}", self.name.to_uppercase().replace('.', "_"))
    }

    /// Whether there is a section with this name.
    pub(super) fn is_section(name: &str) -> bool {
        KEYS.iter().any(|key| key.name.split_once('.').is_some_and(|(section, _)| section == name))
    }
}
