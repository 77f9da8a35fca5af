//! Asks a server for vectors, in the way of OpenAI's `/embeddings`.

use std::fmt;
use std::time::Duration;

use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use reqwest::{Client, StatusCode, redirect};
use serde::{Deserialize, Serialize};

use ctxc_store::Vector;
use ctxc_store::waiting::Waiting;
use ctxc_transcript::text::{Tokens, on_one_line};

/// How long a connection and a whole reply may take.
const CONNECT: Duration = Duration::from_secs(10);
const REPLY: Duration = Duration::from_secs(60);

/// How often it is asked for the same texts, and how long is waited before the second time, then twice as long.
const ATTEMPTS: u32 = 3;
const FIRST_WAIT: Duration = Duration::from_millis(500);
/// No server is waited for longer.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// No reply that is meant is longer.
const MOST_BYTES: usize = 64 << 20;

/// Whom to ask, and for which model.
#[derive(Clone, PartialEq, Eq)]
pub struct EmbeddingServer {
    /// Its base URL, which ends in `/v1` most often.
    pub base_url: String,
    /// Its host, as people are told of it.
    pub host: String,
    /// Its key, where it wants one.
    pub key: Option<String>,
    /// The model.
    pub model: String,
    /// Where it is.
    pub place: Place,
}

/// Where a server is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// On this machine: nothing leaves it.
    Here,
    /// Elsewhere.
    Elsewhere,
}

impl fmt::Debug for EmbeddingServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without the key.
        f.debug_struct("EmbeddingServer")
            .field("base_url", &self.base_url)
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
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

/// What a server gave.
#[derive(Clone, Debug, PartialEq)]
pub struct Embedded {
    /// A vector for each text, in their order; `None` where it has no direction.
    pub vectors: Vec<Option<Vector>>,
    /// The tokens that the server counted, where it says so.
    pub tokens: Option<Tokens>,
}

/// A connection to a server. Nothing is opened before the first request.
pub struct Embedder {
    server: EmbeddingServer,
    client: Client,
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
    usage: Option<Usage>,
    error: Option<serde_json::Value>,
}

#[derive(Deserialize)]
struct Datum {
    index: Option<usize>,
    embedding: Vec<f32>,
}

#[derive(Deserialize)]
struct Usage {
    prompt_tokens: Option<u64>,
}

/// A failure, and whether it may pass.
struct Failure {
    detail: String,
    again: Option<Duration>,
}

impl Embedder {
    /// One that asks `server`.
    ///
    /// # Errors
    /// When the system gives no runtime or no certificates.
    pub fn new(server: EmbeddingServer) -> Result<Self, EmbedError> {
        let error = |detail: String| EmbedError { host: server.host.clone(), detail };
        let waiting = Waiting::new().map_err(|it| error(it.to_string()))?;
        let client = Client::builder()
            .user_agent(concat!("ctxc/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT)
            .timeout(REPLY)
            .redirect(redirect::Policy::none());
        // What is for this machine does not go by way of another, nor does it need the certificates of a system that may
        // have none.
        let client = match server.place {
            Place::Here => client.no_proxy(),
            Place::Elsewhere => client,
        };
        let client = if server.base_url.starts_with("http:") { client.tls_certs_only([]) } else { client };
        let client = client.build().map_err(|it| error(it.without_url().to_string()))?;
        Ok(Self { server, client, waiting })
    }

    /// Who is asked.
    #[must_use]
    pub const fn server(&self) -> &EmbeddingServer {
        &self.server
    }

    /// A vector for each of `texts`, which leave the machine as they are.
    ///
    /// # Errors
    /// When the server does not answer, refuses, or answers with something else.
    pub fn embed(&self, texts: &[String]) -> Result<Embedded, EmbedError> {
        self.waiting.wait(async {
            let mut pause = FIRST_WAIT;
            let mut attempt = 1;
            loop {
                match self.ask(texts).await {
                    Ok(embedded) => return Ok(embedded),
                    Err(Failure { detail, again }) => match again {
                        Some(asked) if attempt < ATTEMPTS => {
                            tokio::time::sleep(pause.max(asked).min(LONGEST_WAIT)).await;
                            pause *= 2;
                            attempt += 1;
                        }
                        Some(_) | None => {
                            return Err(EmbedError { host: self.server.host.clone(), detail: self.hidden(&detail) });
                        }
                    },
                }
            }
        })
    }

    async fn ask(&self, texts: &[String]) -> Result<Embedded, Failure> {
        let fatal = |detail: String| Failure { detail, again: None };
        let passing =
            |error: reqwest::Error| Failure { detail: chain(&error.without_url()), again: Some(Duration::ZERO) };
        let body = serde_json::to_vec(&Request { model: &self.server.model, input: texts })
            .map_err(|error| fatal(error.to_string()))?;
        let url = format!("{}/embeddings", self.server.base_url.trim_end_matches('/'));
        let mut request = self.client.post(url).header(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(key) = &self.server.key {
            let value = HeaderValue::from_str(&format!("Bearer {key}"));
            let mut value = value.map_err(|_| fatal("its key has a character that no header has".to_owned()))?;
            value.set_sensitive(true);
            request = request.header(AUTHORIZATION, value);
        }
        let mut response = request.body(body).send().await.map_err(passing)?;
        let status = response.status();
        let header = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.trim().parse().ok());
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(passing)? {
            body.extend_from_slice(&chunk);
            if body.len() > MOST_BYTES {
                return Err(fatal("its reply does not end".to_owned()));
            }
        }
        if !status.is_success() {
            let may_pass = status.is_server_error()
                || [StatusCode::REQUEST_TIMEOUT, StatusCode::TOO_MANY_REQUESTS].contains(&status);
            let again = may_pass.then(|| header.map_or(Duration::ZERO, Duration::from_secs));
            return Err(Failure { detail: format!("it answers {status}: {}", excerpt(&body)), again });
        }
        read(&body, texts.len()).map_err(fatal)
    }

    /// `text` without the key, which a server may repeat.
    fn hidden(&self, text: &str) -> String {
        match self.server.key.as_deref().filter(|key| key.len() >= 6) {
            Some(key) => text.replace(key, "[key]"),
            None => text.to_owned(),
        }
    }
}

/// The vectors in a reply, in the order of the texts.
fn read(body: &[u8], n_texts: usize) -> Result<Embedded, String> {
    let response: Response =
        serde_json::from_slice(body).map_err(|_| format!("its reply holds no vectors: {}", excerpt(body)))?;
    if let Some(error) = response.error.filter(|error| !error.is_null()) {
        return Err(format!("it failed on the way: {}", excerpt(error.to_string().as_bytes())));
    }
    let mut vectors: Vec<Option<Vec<f32>>> = vec![None; n_texts];
    for (place, Datum { index, embedding }) in response.data.into_iter().enumerate() {
        if let Some(vector) = vectors.get_mut(index.unwrap_or(place)) {
            *vector = Some(embedding);
        }
    }
    let n_given = vectors.iter().filter(|vector| vector.is_some()).count();
    if n_given < n_texts {
        return Err(format!("it gave {n_given} vectors for {n_texts} texts"));
    }
    let tokens = response.usage.and_then(|usage| usage.prompt_tokens).map(Tokens);
    Ok(Embedded { vectors: vectors.into_iter().map(|numbers| Vector::new(numbers?)).collect(), tokens })
}

/// The beginning of what a server says, in one line.
fn excerpt(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let mut excerpt: String = on_one_line(&text).chars().take(200).collect();
    if excerpt.is_empty() {
        excerpt.push_str("nothing");
    }
    excerpt
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text = format!("{text}: {cause}");
        next = cause.source();
    }
    text
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
