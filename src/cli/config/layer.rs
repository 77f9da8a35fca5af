//! The layers of the configuration: files and the environment, each with the keys that it sets.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::{self, Display};
use std::path::{Path, PathBuf};
use std::{fs, io};

use anyhow::anyhow;
use serde::Serialize;
use toml::{Spanned, Table, Value};

use super::key::{Form, KEYS, Key, Scope};
use crate::cli::error::CommandError;
use crate::engine::chat::Key as ApiKey;

/// The name of the file, in a project and in the folder of the user's configuration.
const FILE: &str = "ctxc.toml";

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Source {
    /// Nobody set it.
    Default,
    /// The `ctxc.toml` of the project.
    Project(PathBuf),
    /// That of the user.
    User(PathBuf),
    /// A variable of the environment.
    Environment,
}

impl Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::Project(path) | Self::User(path) => path.display().fmt(f),
            Self::Environment => f.write_str("environment"),
        }
    }
}

/// The keys that one source sets.
#[derive(Clone, Debug)]
pub(crate) struct Layer {
    pub(crate) source: Source,
    pub(super) table: Table,
    /// The key of the server, of which the table only says that it is set.
    pub(crate) api_key: Option<ApiKey>,
    /// That of the server for embeddings.
    pub(crate) embeddings_key: Option<ApiKey>,
}

impl Layer {
    /// All layers, the strongest first: the environment by `variable`, the project's file in `cwd` or the nearest folder
    /// above it, the user's in `user_folder`.
    ///
    /// # Errors
    /// When a file cannot be read, or sets a key that there is not or that it may not set.
    pub(crate) fn all(
        variable: impl Fn(&str) -> Option<OsString>,
        cwd: &Path,
        user_folder: Option<&Path>,
    ) -> Result<Vec<Self>, CommandError> {
        let user = user_folder.map(|folder| folder.join(FILE));
        let project = cwd.ancestors().map(|folder| folder.join(FILE)).find(|path| path.is_file());
        let mut layers = vec![Self::of_environment(variable)?];
        if let Some(path) = project.filter(|path| Some(path) != user.as_ref()) {
            layers.extend(Self::of_file(Source::Project(path.clone()), &path)?);
        }
        if let Some(path) = user {
            layers.extend(Self::of_file(Source::User(path.clone()), &path)?);
        }
        Ok(layers)
    }

    fn of_environment(variable: impl Fn(&str) -> Option<OsString>) -> Result<Self, CommandError> {
        let mut table = Table::new();
        let (mut api_key, mut embeddings_key) = (None, None);
        for key in KEYS.into_iter().filter(|key| key.form != Form::Table) {
            let name = key.variable();
            let Some(value) = variable(&name).filter(|value| !value.is_empty()) else { continue };
            let value =
                value.into_string().map_err(|_| CommandError::config(anyhow!("read {name}: it is no UTF-8")))?;
            let value = match key.form {
                Form::Text | Form::Table => Value::String(value),
                Form::Secret => {
                    let of_server = if key.name == "api_key" { &mut api_key } else { &mut embeddings_key };
                    *of_server = Some(secret(&value, &name)?);
                    Value::String(SET.to_owned())
                }
                Form::List => {
                    Value::Array(value.split(',').map(|piece| Value::String(piece.trim().to_owned())).collect())
                }
                Form::Number => number(&value)
                    .ok_or_else(|| CommandError::config(anyhow!("take {value:?} for {name}: it is no number")))?,
            };
            table.insert(key.name.to_owned(), value);
        }
        Ok(Self { source: Source::Environment, table, api_key, embeddings_key })
    }

    fn of_file(source: Source, path: &Path) -> Result<Option<Self>, CommandError> {
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => {
                let context = format!("read the configuration {}", path.display());
                return Err(CommandError::config(anyhow::Error::new(error).context(context)));
            }
        };
        let line = |at: usize| 1 + text.bytes().take(at).filter(|byte| *byte == b'\n').count();
        let place = |at: Option<usize>| match at {
            Some(at) => format!("{}, line {}", path.display(), line(at)),
            None => path.display().to_string(),
        };
        let pairs: BTreeMap<Spanned<String>, Spanned<Value>> = toml::from_str(&text).map_err(|error| {
            let place = place(error.span().map(|span| span.start));
            CommandError::config(anyhow!("read the configuration {place}: {}", error.message()))
        })?;
        let mut table = Table::new();
        let (mut api_key, mut embeddings_key) = (None, None);
        for (start, name, value) in pairs.into_iter().flat_map(without_sections) {
            let place = place(Some(start));
            match Key::named(&name) {
                None => {
                    let known = KEYS.map(|key| key.name).join(", ");
                    return Err(CommandError::config(anyhow!(
                        "read the configuration {place}: there is no key {name:?}"
                    ))
                    .hint(format!("the keys are {known}")));
                }
                Some(key) if key.scope == Scope::Personal && matches!(source, Source::Project(_)) => {
                    return Err(CommandError::config(anyhow!(
                        "read the configuration {place}: a project may not set {name:?}"
                    ))
                    .hint(match key.form {
                        Form::Table => "set it in your own configuration".to_owned(),
                        Form::Text | Form::Number | Form::List | Form::Secret => {
                            format!("set it in your own configuration, or as {}", key.variable())
                        }
                    }));
                }
                Some(key) if key.form == Form::Secret => {
                    let text = value.as_str().unwrap_or_default();
                    let of_server = if name == "api_key" { &mut api_key } else { &mut embeddings_key };
                    *of_server = Some(secret(text, &place)?);
                    table.insert(name, Value::String(SET.to_owned()));
                }
                Some(_) => drop(table.insert(name, value)),
            }
        }
        Ok(Some(Self { source, table, api_key, embeddings_key }))
    }

    /// Whether it has a value for the key called `name`.
    pub(crate) fn sets(&self, name: &str) -> bool {
        self.table.contains_key(name)
    }

    /// The error of a value that has the wrong form.
    pub(super) fn wrong(&self, error: &toml::de::Error) -> CommandError {
        CommandError::config(anyhow!("take the configuration of {}: {}", self.source, error.message()))
    }
}

/// A pair with where it stands; each of a section with the name of that before its own.
fn without_sections((name, value): (Spanned<String>, Spanned<Value>)) -> Vec<(usize, String, Value)> {
    let start = name.span().start;
    let name = name.into_inner();
    match value.into_inner() {
        Value::Table(section) if Key::has_section(&name) => {
            section.into_iter().map(|(key, value)| (start, format!("{name}.{key}"), value)).collect()
        }
        value => vec![(start, name, value)],
    }
}

/// What is shown of a key.
pub(crate) const SET: &str = "(set)";

/// The key that stands at `place`.
fn secret(text: &str, place: &str) -> Result<ApiKey, CommandError> {
    text.parse().map_err(|error| CommandError::config(anyhow::Error::new(error).context(format!("read {place}"))))
}

/// A number as TOML has it, whole or with a point.
fn number(text: &str) -> Option<Value> {
    let whole = text.trim().parse().ok().map(Value::Integer);
    whole.or_else(|| text.trim().parse().ok().filter(|number: &f64| number.is_finite()).map(Value::Float))
}
