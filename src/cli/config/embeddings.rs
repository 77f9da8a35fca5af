//! The section `[embeddings]`: the server for searches by meaning.

use serde::{Deserialize, Serialize};

/// The values of the section.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct EmbeddingsConfig {
    /// The base URL of the server; without one a search only uses words.
    pub(crate) base_url: Option<String>,
    /// The embeddings model.
    pub(crate) model: Option<String>,
    /// [`super::layer::SET`] if the key of the server is set.
    pub(crate) api_key: Option<String>,
}
