//! Chat messages for the chat completions API and for fine-tuning. The result of a call directly follows the message with the
//! call; thinking is left out.

use serde::Serialize;

use super::steps::{ExportedCall, ExportedStep, ExportedSteps, StepSource};

#[derive(Serialize)]
struct OpenAiChat<'a> {
    messages: Vec<OpenAiMessage<'a>>,
}

#[derive(Serialize)]
struct OpenAiMessage<'a> {
    role: &'a str,
    content: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<OpenAiToolCall<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a str>,
}

#[derive(Serialize)]
struct OpenAiToolCall<'a> {
    id: &'a str,
    #[serde(rename = "type")]
    kind: &'a str,
    function: OpenAiFunction<'a>,
}

#[derive(Serialize)]
struct OpenAiFunction<'a> {
    name: &'a str,
    arguments: &'a str,
}

/// The replacement for a missing result: the API refuses a call without one.
const NO_RESULT: &str = "(no result)";

pub(super) fn chat_to_json(steps: &ExportedSteps) -> serde_json::Result<String> {
    serde_json::to_string(&OpenAiChat { messages: steps.steps.iter().flat_map(messages_of_step).collect() })
}

fn messages_of_step(step: &ExportedStep) -> Vec<OpenAiMessage<'_>> {
    let said = |role| OpenAiMessage { role, content: Some(&step.text), tool_calls: Vec::new(), tool_call_id: None };
    match step.source {
        StepSource::Person => vec![said("user")],
        StepSource::Client => vec![said("system")],
        // The message has only thinking.
        StepSource::Model if step.text.is_empty() && step.calls.is_empty() => Vec::new(),
        StepSource::Model => {
            let content = Some(step.text.as_str()).filter(|text| !text.is_empty());
            let tool_calls = step.calls.iter().map(tool_call).collect();
            let results = step.calls.iter().map(|call| OpenAiMessage {
                role: "tool",
                content: Some(call.result.as_deref().unwrap_or(NO_RESULT)),
                tool_calls: Vec::new(),
                tool_call_id: Some(&call.id),
            });
            let message = OpenAiMessage { role: "assistant", content, tool_calls, tool_call_id: None };
            [message].into_iter().chain(results).collect()
        }
    }
}

fn tool_call(call: &ExportedCall) -> OpenAiToolCall<'_> {
    OpenAiToolCall {
        id: &call.id,
        kind: "function",
        function: OpenAiFunction { name: &call.tool, arguments: &call.input },
    }
}
