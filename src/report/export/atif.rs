//! The Agent Trajectory Interchange Format 1.7 of Harbor (<https://harborframework.com/docs/trajectory-format>).
//!
//! Its rules: step ids count from 1; only steps of the agent have calls, thinking and metrics; a result names a call of its own
//! step; arguments are an object; keys without a value are omitted.

use serde::Serialize;
use serde_json::{Map, Value};

use super::MessageUsage;
use super::steps::{ExportedCall, ExportedStep, ExportedSteps, StepSource};
use crate::report::session::SessionRef;

#[derive(Serialize)]
struct Trajectory<'a> {
    schema_version: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<&'a str>,
    agent: AtifAgent<'a>,
    steps: Vec<AtifStep<'a>>,
    final_metrics: FinalMetrics,
}

#[derive(Serialize)]
struct AtifAgent<'a> {
    name: &'a str,
    version: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    model_name: Option<&'a str>,
}

#[derive(Serialize)]
struct AtifStep<'a> {
    step_id: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    timestamp: Option<&'a str>,
    source: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    model_name: Option<&'a str>,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<AtifToolCall<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    observation: Option<Observation<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metrics: Option<AtifMetrics>,
}

#[derive(Serialize)]
struct AtifToolCall<'a> {
    tool_call_id: &'a str,
    function_name: &'a str,
    arguments: Map<String, Value>,
}

#[derive(Serialize)]
struct Observation<'a> {
    results: Vec<ObservationResult<'a>>,
}

#[derive(Serialize)]
struct ObservationResult<'a> {
    source_call_id: &'a str,
    content: &'a str,
}

#[derive(Serialize)]
#[expect(clippy::struct_field_names, reason = "the names of the format")]
struct AtifMetrics {
    prompt_tokens: u64,
    completion_tokens: u64,
    cached_tokens: u64,
}

#[derive(Serialize)]
#[expect(clippy::struct_field_names, reason = "the names of the format")]
struct FinalMetrics {
    total_prompt_tokens: u64,
    total_completion_tokens: u64,
    total_cached_tokens: u64,
    total_steps: usize,
}

pub(super) fn trajectory_to_json(session: &SessionRef, steps: &ExportedSteps) -> serde_json::Result<String> {
    let sum = |of: fn(MessageUsage) -> u64| steps.steps.iter().filter_map(|step| step.spent).map(of).sum();
    serde_json::to_string(&Trajectory {
        schema_version: "ATIF-v1.7",
        session_id: session.id.as_deref(),
        agent: AtifAgent {
            name: "claude-code",
            version: steps.client.as_deref().unwrap_or("unknown"),
            model_name: steps.steps.iter().rev().find_map(|step| step.model.as_deref()),
        },
        steps: (1..).zip(&steps.steps).map(|(step_id, step)| atif_step(step_id, step)).collect(),
        final_metrics: FinalMetrics {
            total_prompt_tokens: sum(|spent| spent.prompt),
            total_completion_tokens: sum(|spent| spent.completion),
            total_cached_tokens: sum(|spent| spent.cached),
            total_steps: steps.steps.len(),
        },
    })
}

fn atif_step(step_id: usize, step: &ExportedStep) -> AtifStep<'_> {
    let results = step
        .calls
        .iter()
        .filter_map(|call| Some(ObservationResult { source_call_id: &call.id, content: call.result.as_deref()? }));
    let results: Vec<ObservationResult<'_>> = results.collect();
    AtifStep {
        step_id,
        timestamp: step.time.as_deref(),
        source: match step.source {
            StepSource::Person => "user",
            StepSource::Model => "agent",
            StepSource::Client => "system",
        },
        model_name: step.model.as_deref().filter(|_| step.source == StepSource::Model),
        message: &step.text,
        reasoning_content: Some(step.thinking.as_str()).filter(|thinking| !thinking.is_empty()),
        tool_calls: step.calls.iter().map(tool_call).collect(),
        observation: (!results.is_empty()).then_some(Observation { results }),
        metrics: step.spent.map(|MessageUsage { prompt, cached, completion }| AtifMetrics {
            prompt_tokens: prompt,
            completion_tokens: completion,
            cached_tokens: cached,
        }),
    }
}

fn tool_call(call: &ExportedCall) -> AtifToolCall<'_> {
    let arguments = match serde_json::from_str(&call.input) {
        Ok(Value::Object(arguments)) => arguments,
        // A placeholder may have broken the JSON, or the model never wrote an object.
        _ => [("input".to_owned(), Value::from(call.input.as_str()))].into_iter().collect(),
    };
    AtifToolCall { tool_call_id: &call.id, function_name: &call.tool, arguments }
}
