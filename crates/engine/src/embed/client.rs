//! Asks a server for vectors, in the way of OpenAI's `/embeddings`.

use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::http::body::{ErrorBody, UsageBody};
use crate::http::client::Http;
use crate::http::refusal::excerpt;
use crate::http::{Endpoint, Key};
use crate::run::retry::{Next, next};
use crate::{EngineError, Fault};
use ctxc_store::Vector;
use ctxc_store::waiting::Waiting;
use ctxc_transcript::text::Tokens;

/// How long a whole reply may take.
const REPLY: Duration = Duration::from_secs(60);
/// How often it is asked for the same texts.
const ATTEMPTS: u32 = 3;
/// No server is waited for longer.
const LONGEST_WAIT: Duration = Duration::from_secs(10);
/// No reply that is meant is longer.
const MOST_BYTES: usize = 64 << 20;

/// Whom to ask, and for which model.
#[derive(Clone, Debug)]
pub struct EmbeddingServer {
    /// The path of the file.
    pub endpoint: Endpoint,
    /// Its key, where it wants one.
    pub key: Option<Key>,
    /// The model.
    pub model: String,
    /// Tells the time, for servers that name a date.
    pub now: fn() -> Timestamp,
}

/// Why there are no vectors. The message fits after "cannot".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("get vectors from {host}: {detail}")]
pub struct EmbedError {
    /// Who was asked.
    pub host: String,
    /// What went wrong, without the key.
    pub detail: String,
}

/// The vectors that a server returned.
#[derive(Clone, Debug, PartialEq)]
pub struct Embedded {
    /// A vector for each text, in their order; `None` where it has no direction.
    pub vectors: Vec<Option<Vector>>,
    /// The tokens that the server counted, where it says so.
    pub tokens: Option<Tokens>,
}

/// A server that gives vectors. Nothing is opened before the first request.
pub struct Embedder {
    http: Http,
    model: String,
    waiting: Waiting,
}

#[derive(Serialize)]
struct Request<'a> {
    model: &'a str,
    input: &'a [String],
}

#[derive(Deserialize)]
struct Response {
    #[serde(default)]
    data: Vec<Datum>,
    usage: Option<UsageBody>,
    error: Option<ErrorBody>,
}

#[derive(Deserialize)]
struct Datum {
    index: Option<usize>,
    embedding: Vec<f32>,
}

impl Embedder {
    /// One that asks `server`.
    ///
    /// # Errors
    /// When the system gives no runtime.
    pub fn new(server: EmbeddingServer) -> Result<Self, EmbedError> {
        let EmbeddingServer { endpoint, key, model, now } = server;
        let waiting =
            Waiting::new().map_err(|error| EmbedError { host: endpoint.host(), detail: error.to_string() })?;
        Ok(Self { http: Http::new(endpoint, key, now), model, waiting })
    }

    /// The model that is asked.
    #[must_use]
    pub fn model(&self) -> &str {
        &self.model
    }

    /// A vector for each of `texts`, which leave the machine as they are.
    ///
    /// # Errors
    /// When the server does not answer, refuses, or answers with something else.
    pub fn embed(&self, texts: &[String]) -> Result<Embedded, EmbedError> {
        let embedded = self.waiting.wait(async {
            let mut attempt = 1;
            loop {
                let error = match tokio::time::timeout(REPLY, self.ask(texts)).await {
                    Ok(Ok(embedded)) => return Ok(embedded),
                    Ok(Err(error)) => error,
                    Err(_) => EngineError::timeout(REPLY),
                };
                let Next::Again(wait) = next(&error, attempt, ATTEMPTS, 0) else { return Err(error) };
                tokio::time::sleep(wait.min(LONGEST_WAIT)).await;
                attempt += 1;
            }
        });
        embedded.map_err(|error| EmbedError { host: self.http.endpoint().host(), detail: error.message })
    }

    async fn ask(&self, texts: &[String]) -> Result<Embedded, EngineError> {
        let permanent = |detail: String| self.http.hidden(EngineError::new(Fault::Permanent, detail));
        let request = Request { model: &self.model, input: texts };
        let body = serde_json::to_vec(&request).map_err(|error| permanent(error.to_string()))?;
        let body = self.http.post("embeddings", body, MOST_BYTES).await?;
        read(&body, texts.len()).map_err(permanent)
    }
}

/// The vectors in a reply, in the order of the texts.
fn read(body: &[u8], n_texts: usize) -> Result<Embedded, String> {
    let response: Response =
        serde_json::from_slice(body).map_err(|_| format!("the reply holds no vectors: {}", shown(body)))?;
    if let Some(error) = response.error {
        return Err(format!("the server failed on the way: {}", excerpt(&error.message)));
    }
    let mut vectors: Vec<Option<Vec<f32>>> = vec![None; n_texts];
    for (place, Datum { index, embedding }) in response.data.into_iter().enumerate() {
        if let Some(vector) = vectors.get_mut(index.unwrap_or(place)) {
            *vector = Some(embedding);
        }
    }
    let n_given = vectors.iter().filter(|vector| vector.is_some()).count();
    if n_given < n_texts {
        return Err(format!("the server gave {n_given} vectors for {n_texts} texts"));
    }
    let tokens = response.usage.map(|usage| usage.usage().input);
    Ok(Embedded { vectors: vectors.into_iter().map(|numbers| Vector::new(numbers?)).collect(), tokens })
}

/// The beginning of a body.
fn shown(body: &[u8]) -> String {
    let text = excerpt(&String::from_utf8_lossy(body));
    if text.is_empty() { "nothing".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    // A-05
    #[test]
    fn a_05_a_reply_is_read_in_the_order_of_its_texts() {
        let reply = br#"{"data": [{"index": 1, "embedding": [0, 2]}, {"index": 0, "embedding": [3, 0]}],
            "usage": {"prompt_tokens": 7, "total_tokens": 7}}"#;
        let embedded = read(reply, 2).unwrap();
        let numbers: Vec<_> = embedded.vectors.iter().map(|it| it.as_ref().unwrap().numbers().to_vec()).collect();
        assert_eq!(numbers, [[1.0, 0.0], [0.0, 1.0]]);
        assert_eq!(embedded.tokens, Some(Tokens(7)));
    }
    // A-05
    #[test]
    fn a_05_a_reply_without_a_vector_for_each_text_is_an_error() {
        let cases: [(&[u8], &str); 5] = [
            (b"", "no vectors: nothing"),
            (b"<html>", "no vectors: <html>"),
            (br#"{"error": {"message": "no such model"}}"#, "no such model"),
            (br#"{"data": [{"embedding": [1.0]}]}"#, "1 vectors for 2 texts"),
            (br#"{"data": [{"embedding": [1.0], "index": 7}, {"embedding": [1.0], "index": 1}]}"#, "1 vectors for 2"),
        ];
        for (body, part) in cases {
            let error = read(body, 2).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
        assert_eq!(read(br#"{"data": [{"embedding": [0.0]}]}"#, 1).unwrap().vectors, [None]);
    }
}
