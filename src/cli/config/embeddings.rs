//! The section `[embeddings]`: who is asked what entries mean.

use serde::{Deserialize, Serialize};

/// The values of the section.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Embeddings {
    /// The server that is asked for embeddings; without one a search goes by words alone.
    pub(crate) base_url: Option<String>,
    /// The model that is asked for them.
    pub(crate) model: Option<String>,
    /// That the key of that server is set.
    pub(crate) api_key: Option<String>,
}
