//! The arguments for the engine of verbs that shorten texts.

use std::num::NonZeroU32;
use std::time::Duration;

use anyhow::anyhow;
use clap::builder::NonEmptyStringValueParser;
use jiff::Timestamp;

use crate::cli::environment::{Environment, OPENROUTER_API_KEY};
use crate::session::error::CommandError;
use crate::session::options::{Asking, Consent, EngineChoice, EngineName, Secrets};
use ctxc_engine::chat::{ChatSettings, Models};
use ctxc_engine::http::Endpoint;
use ctxc_engine::run::{Order, RunOptions, Timeouts};
use ctxc_engine::{Price, Prices, Usd};

/// The default models on OpenRouter, for short and for long texts.
const DEFAULT_MODELS: (&str, &str) = ("google/gemini-3.1-flash-lite", "google/gemini-2.5-flash");

#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Engine")]
pub(crate) struct EngineArgs {
    /// Engine [default: chat if a key or a base URL is configured, else extract]
    #[arg(long, value_enum)]
    engine: Option<EngineName>,
    /// Model [env: CTXC_MODEL=]
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    model: Option<String>,
    /// Model for texts of more than 1000 tokens [env: CTXC_LARGE_MODEL=] [default: --model]
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    large_model: Option<String>,
    /// Base URL of an OpenAI-compatible server [env: CTXC_BASE_URL=] [default: OpenRouter]
    #[arg(long, value_name = "URL", value_parser = NonEmptyStringValueParser::new())]
    base_url: Option<String>,
    /// Maximum concurrent requests [default: 10]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    concurrency: Option<u32>,
    /// Maximum attempts per request [default: 4]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    attempts: Option<u32>,
    /// Timeout of the first attempt, in seconds; longer for long texts [default: 5]
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<f64>,
    /// Timeout increase per retry, in seconds [default: 5]
    #[arg(long, value_name = "SECONDS")]
    timeout_step: Option<f64>,
    /// Maximum requests per minute
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    rpm: Option<u32>,
    /// Maximum cost of the run, in USD
    #[arg(long, value_name = "USD")]
    max_cost: Option<Usd>,
    /// Do not ask before sending texts
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// Do not replace secrets before sending
    #[arg(long)]
    pub(crate) no_redact: bool,
}

impl EngineArgs {
    /// The engine that the arguments name, or that follows from the configuration.
    pub(crate) fn resolve(self, environment: &Environment) -> Result<EngineChoice, CommandError> {
        let config = &environment.config;
        let named = self.engine.or(config.engine);
        let has_server = environment.has_server() || self.base_url.is_some();
        match named {
            Some(EngineName::Extract) => Ok(EngineChoice::Extract),
            None if !has_server => Ok(EngineChoice::Extract),
            Some(EngineName::Chat) | None => Ok(EngineChoice::Chat(Box::new(self.chat(environment)?))),
        }
    }

    fn chat(self, environment: &Environment) -> Result<Asking, CommandError> {
        let config = &environment.config;
        let typed = self.base_url.as_ref().or(config.base_url.as_ref());
        let endpoint: Endpoint =
            typed.map_or(Endpoint::DEFAULT, String::as_str).parse().map_err(CommandError::usage)?;
        let key = environment.key_for(&endpoint);
        if key.is_none() && !endpoint.is_loopback() {
            return Err(no_key(&endpoint, environment));
        }
        let models = models(
            self.model.or_else(|| config.model.clone()),
            self.large_model.or_else(|| config.large_model.clone()),
            &endpoint,
        )?;
        let mut prices = Prices::built_in();
        config.prices.iter().for_each(|(model, price)| prices.set(model.clone(), *price));
        // A local model has no cost that could be counted; a model with a known price may be proxied by the local server.
        let free = Price { input: Usd::ZERO, output: Usd::ZERO };
        for model in [&models.small, &models.large] {
            if endpoint.is_loopback() && prices.get(model).is_none() {
                prices.set(model.clone(), free);
            }
        }
        let max_cost = max_cost(self.max_cost, config.max_cost)?;
        if max_cost.is_some() {
            for model in [&models.small, &models.large] {
                prices.require(model).map_err(|error| {
                    CommandError::usage(error).hint("use a model with a known price, or remove --max-cost")
                })?;
            }
        }
        let timeouts = Timeouts {
            first: seconds("--timeout", self.timeout.unwrap_or(config.timeout))?,
            step: seconds("--timeout-step", self.timeout_step.unwrap_or(config.timeout_step))?,
        };
        if timeouts.first.is_zero() {
            return Err(CommandError::usage(anyhow!("--timeout must be greater than 0"))
                .hint("remove it to use the default of 5 seconds"));
        }
        Ok(Asking {
            options: RunOptions {
                concurrency: self.concurrency.unwrap_or(config.concurrency).max(1) as usize,
                attempts: self.attempts.unwrap_or(config.attempts).max(1),
                timeouts: Some(timeouts),
                rpm: self.rpm.or(config.rpm).and_then(NonZeroU32::new),
                max_cost,
                order: Order::LongestFirst,
            },
            prices,
            consent: if self.yes || environment.user_asks_for_chat() { Consent::Given } else { Consent::Ask },
            secrets: if self.no_redact { Secrets::Sent } else { Secrets::Replaced },
            key_variable: environment.used_key_variable(),
            server: ChatSettings { endpoint, key, models, now: Timestamp::now },
        })
    }
}

/// The models for short and for long texts.
fn models(small: Option<String>, large: Option<String>, endpoint: &Endpoint) -> Result<Models, CommandError> {
    let (default_small, default_large) = DEFAULT_MODELS;
    match (small, large) {
        (Some(small), large) => Ok(Models { large: large.unwrap_or_else(|| small.clone()), small }),
        (None, _) if !endpoint.is_openrouter() => {
            Err(CommandError::usage(anyhow!("no model for {}", endpoint.host())).hint("set --model or CTXC_MODEL"))
        }
        (None, large) => {
            Ok(Models { small: default_small.to_owned(), large: large.unwrap_or_else(|| default_large.to_owned()) })
        }
    }
}

/// The maximum cost from the arguments, else from the configuration.
fn max_cost(typed: Option<Usd>, configured: Option<f64>) -> Result<Option<Usd>, CommandError> {
    let Some(dollars) = configured.filter(|_| typed.is_none()) else { return Ok(typed) };
    let cost = Usd::from_dollars(dollars);
    cost.map(Some).ok_or_else(|| CommandError::usage(anyhow!("max_cost must be an amount in USD, not {dollars}")))
}

fn seconds(option: &str, seconds: f64) -> Result<Duration, CommandError> {
    let is_sane = (0.0..=86_400.0).contains(&seconds);
    if is_sane {
        Ok(Duration::from_secs_f64(seconds))
    } else {
        Err(CommandError::usage(anyhow!("{option} must be a number of seconds, at most a day, not {seconds}")))
    }
}

/// The error of a server that needs a key, before any work.
fn no_key(endpoint: &Endpoint, environment: &Environment) -> CommandError {
    let host = endpoint.host();
    if let Some(variable) = environment.missing_variable() {
        return CommandError::usage(anyhow!("no API key for {host}: {variable} is not set"))
            .hint(format!("set {variable}"));
    }
    let error = CommandError::usage(anyhow!(
        "no API key for {host}: {}",
        if endpoint.is_openrouter() {
            format!("{OPENROUTER_API_KEY} is not set")
        } else {
            "none is configured".to_owned()
        }
    ));
    let variable = environment.key_variable();
    if environment.has_key() {
        return error.hint(format!("{OPENROUTER_API_KEY} is only used for openrouter.ai; set {variable} to the key of {host}, or to any word if it needs none"));
    }
    if endpoint.is_openrouter() {
        return error.hint(format!("set {OPENROUTER_API_KEY}, or use --engine extract, which works offline"));
    }
    error.hint(format!("set {variable} to its key, or to any word if it needs none"))
}
