//! The keys of the configuration.

/// Who may set a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// Anybody, the `ctxc.toml` of a project too.
    Anywhere,
    /// Anybody, and a project only to less than the user has or would have by default: a repository that was cloned must
    /// not make calls by the hundred.
    Lowers,
    /// Anybody, and a project only to more than the user has or would have by default, where there is either: a repository
    /// that was cloned must not make anything cut deeper than its user wants (L-14).
    Raises,
    /// Anybody, and what a project lists is added to what the user lists.
    Adds,
    /// The user alone: a repository that was cloned must not decide where a transcript goes.
    Personal,
}

/// How the value of a key stands in a variable of the environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Text,
    Number,
    /// Pieces between commas.
    List,
    /// The name of a file, which in a configuration file counts from its folder.
    Path,
    /// The key of a server, which is not shown: itself, or `env:NAME` for that of a variable.
    Secret,
    /// Not at all: it stands in a file alone.
    FileOnly,
}

/// A key; that of a section has its name before it, such as `summarization.engine`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Key {
    pub(super) name: &'static str,
    pub(super) scope: Scope,
    pub(super) form: Form,
}

/// Whether the variable called `name` is one that ctxc reads.
pub(in crate::cli) fn is_variable(name: &str) -> bool {
    /// Variables beside those of keys; what a user names for keys of servers is the user's own.
    const OTHERS: [&str; 4] = ["CTXC_BLESS", "CTXC_CORPUS", "CTXC_SEED", "CTXC_SEQUENCES"];
    OTHERS.contains(&name)
        || name.starts_with("CTXC_TEST_")
        || KEYS.iter().any(|key| name.strip_prefix("CTXC_") == Some(&key.name.replace('.', "_").to_uppercase()))
}

/// Every key, in the order in which `ctxc config` shows them.
pub(super) const KEYS: [Key; 43] = [
    Key { name: "archive", scope: Scope::Personal, form: Form::Text },
    // Consent, which is given in the user's own file and nowhere else.
    Key { name: "keep_on_server", scope: Scope::Personal, form: Form::FileOnly },
    // Who is warned all the time no longer reads warnings.
    Key { name: "keep_max", scope: Scope::Personal, form: Form::Text },
    Key { name: "engine", scope: Scope::Personal, form: Form::Text },
    Key { name: "base_url", scope: Scope::Personal, form: Form::Text },
    Key { name: "api_key", scope: Scope::Personal, form: Form::Secret },
    Key { name: "model", scope: Scope::Personal, form: Form::Text },
    Key { name: "large_model", scope: Scope::Personal, form: Form::Text },
    Key { name: "max_cost", scope: Scope::Personal, form: Form::Number },
    Key { name: "concurrency", scope: Scope::Lowers, form: Form::Number },
    Key { name: "attempts", scope: Scope::Lowers, form: Form::Number },
    Key { name: "timeout", scope: Scope::Lowers, form: Form::Number },
    Key { name: "timeout_step", scope: Scope::Lowers, form: Form::Number },
    Key { name: "rpm", scope: Scope::Lowers, form: Form::Number },
    Key { name: "tokens", scope: Scope::Anywhere, form: Form::Text },
    Key { name: "min_tokens", scope: Scope::Raises, form: Form::Number },
    Key { name: "protect_turns", scope: Scope::Raises, form: Form::Number },
    Key { name: "protect_steps", scope: Scope::Raises, form: Form::Number },
    Key { name: "protected_tools", scope: Scope::Adds, form: Form::List },
    Key { name: "protected_files", scope: Scope::Adds, form: Form::List },
    Key { name: "context_window", scope: Scope::Raises, form: Form::Number },
    Key { name: "threshold", scope: Scope::Raises, form: Form::Number },
    Key { name: "headroom", scope: Scope::Raises, form: Form::Number },
    // Who sets a price moves the limit of costs.
    Key { name: "prices", scope: Scope::Personal, form: Form::FileOnly },
    Key { name: "summarization.engine", scope: Scope::Personal, form: Form::Text },
    Key { name: "summarization.base_url", scope: Scope::Personal, form: Form::Text },
    Key { name: "summarization.api_key", scope: Scope::Personal, form: Form::Secret },
    Key { name: "summarization.model", scope: Scope::Personal, form: Form::Text },
    Key { name: "summarization.chunk_size", scope: Scope::Lowers, form: Form::Number },
    Key { name: "summarization.keep_recent", scope: Scope::Raises, form: Form::Number },
    Key { name: "summarization.max_summary_tokens", scope: Scope::Raises, form: Form::Number },
    Key { name: "summarization.clip_first", scope: Scope::Raises, form: Form::Number },
    Key { name: "summarization.clip_last", scope: Scope::Raises, form: Form::Number },
    Key { name: "summarization.context_budget", scope: Scope::Raises, form: Form::Number },
    // What a model is told decides what it does with a transcript.
    Key { name: "summarization.prompt", scope: Scope::Personal, form: Form::Path },
    Key { name: "summarization.persona", scope: Scope::Personal, form: Form::Text },
    Key { name: "embeddings.base_url", scope: Scope::Personal, form: Form::Text },
    Key { name: "embeddings.model", scope: Scope::Personal, form: Form::Text },
    Key { name: "embeddings.api_key", scope: Scope::Personal, form: Form::Secret },
    Key { name: "client.target", scope: Scope::Raises, form: Form::Number },
    // Whether something is done unasked is for the user to say.
    Key { name: "client.auto", scope: Scope::Personal, form: Form::Text },
    // Whether whole sessions are stored is for the user to say.
    Key { name: "client.keep", scope: Scope::Personal, form: Form::FileOnly },
    // Words that end up in a conversation, where a cloned repository has nothing to say.
    Key { name: "client.instructions", scope: Scope::Personal, form: Form::FileOnly },
];

impl Key {
    /// The key called `name`.
    pub(super) fn named(name: &str) -> Option<Self> {
        KEYS.into_iter().find(|key| key.name == name)
    }

    /// The variable of the environment that sets it.
    pub(super) fn variable(self) -> String {
        format!("CTXC_{}", self.name.to_uppercase().replace('.', "_"))
    }

    /// Whether there is a section of this name.
    pub(super) fn is_section(name: &str) -> bool {
        KEYS.iter().any(|key| key.name.split_once('.').is_some_and(|(section, _)| section == name))
    }
}
