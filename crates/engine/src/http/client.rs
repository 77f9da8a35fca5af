//! The HTTP client for all servers: sends a request and returns the body or an error.

use std::sync::OnceLock;
use std::time::Duration;

use jiff::Timestamp;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use reqwest::{Client, redirect};
use serde::Serialize;

use super::endpoint::Endpoint;
use super::key::ApiKey;
use super::refusal::{self, parse_refusal};
use super::retry_after::parse_retry_after;
use crate::{EngineError, Fault};

/// The timeout for opening a connection.
const CONNECT: Duration = Duration::from_secs(10);

/// An OpenAI-compatible server. No connection is opened before the first request.
#[derive(Debug)]
pub(crate) struct HttpClient {
    pub(crate) endpoint: Endpoint,
    key: Option<ApiKey>,
    /// The clock, to interpret a `Retry-After` that holds a date.
    now: fn() -> Timestamp,
    /// Created at the first request, since it reads the certificates of the system.
    client: OnceLock<Client>,
}

impl HttpClient {
    pub(crate) const fn new(endpoint: Endpoint, key: Option<ApiKey>, now: fn() -> Timestamp) -> Self {
        Self { endpoint, key, now, client: OnceLock::new() }
    }

    /// Sends `body` as JSON to `path` below the base URL, and returns the body of a successful response.
    ///
    /// # Errors
    /// If the server cannot be reached, refuses, or sends more than `most_bytes`. No message contains the key.
    pub(crate) async fn post_json(
        &self,
        path: &str,
        body: &impl Serialize,
        most_bytes: usize,
    ) -> Result<Vec<u8>, EngineError> {
        let body = serde_json::to_vec(body).map_err(|error| EngineError::new(Fault::Permanent, error.to_string()))?;
        self.send(path, body, most_bytes).await.map_err(|error| self.mask_key(error))
    }

    async fn send(&self, path: &str, body: Vec<u8>, most_bytes: usize) -> Result<Vec<u8>, EngineError> {
        let request = self.get_client()?.post(self.endpoint.join_path(path)).body(body);
        let mut response = request.send().await.map_err(refusal::network_error)?;
        let status = response.status();
        let header = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
        let wait = header.and_then(|value| parse_retry_after(value, (self.now)()));
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(refusal::network_error)? {
            body.extend_from_slice(&chunk);
            if body.len() > most_bytes {
                return Err(EngineError::new(Fault::Permanent, "the reply does not end"));
            }
        }
        if status.is_success() { Ok(body) } else { Err(parse_refusal(status, wait, &body)) }
    }

    fn get_client(&self) -> Result<&Client, EngineError> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let client = build_client(&self.endpoint, self.key.as_ref()).map_err(|error| {
            EngineError::new(Fault::Fatal, format!("no client can be made: {}", error.without_url()))
        })?;
        Ok(self.client.get_or_init(|| client))
    }

    /// The error with the key masked, since a server may repeat it.
    pub(crate) fn mask_key(&self, error: EngineError) -> EngineError {
        match &self.key {
            Some(key) => EngineError { message: key.mask_in(&error.message), ..error },
            None => error,
        }
    }
}

fn build_client(endpoint: &Endpoint, key: Option<&ApiKey>) -> reqwest::Result<Client> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
    headers.insert(HeaderName::from_static("x-title"), HeaderValue::from_static("ctxc"));
    if let Some(value) = key.and_then(ApiKey::authorization_header) {
        headers.insert(AUTHORIZATION, value);
    }
    // The caller sets the timeout of the whole call.
    let client = Client::builder()
        .user_agent(concat!("ctxc/", env!("CARGO_PKG_VERSION")))
        .default_headers(headers)
        .connect_timeout(CONNECT)
        .tcp_keepalive(Duration::from_secs(30))
        .redirect(redirect::Policy::none());
    // Requests to this machine bypass proxies.
    let client = if endpoint.is_loopback() { client.no_proxy() } else { client };
    // Without TLS no system certificates are needed; some systems have none.
    let client = if endpoint.is_encrypted() { client } else { client.tls_certs_only([]) };
    client.build()
}
