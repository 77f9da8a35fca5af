//! What servers do not have in common: parameters that one of them refuses, and that a request can do without.

/// How a request is put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dialect {
    /// Whether a JSON object is asked for by `response_format`.
    pub(super) json_mode: bool,
    /// Whether a temperature is set.
    pub(super) temperature: bool,
    /// Whether the limit of the reply is called `max_completion_tokens`.
    pub(super) completion_limit: bool,
}

impl Default for Dialect {
    fn default() -> Self {
        Self { json_mode: true, temperature: true, completion_limit: false }
    }
}

impl Dialect {
    /// The dialect without what a server refused with `message`; `None` where the message names nothing that this one
    /// could do without.
    pub(super) fn without(self, message: &str) -> Option<Self> {
        let message = message.to_lowercase();
        let names = |words: &[&str]| words.iter().any(|word| message.contains(word));
        if self.json_mode && names(&["response_format", "json_object", "json mode", "json_schema"]) {
            return Some(Self { json_mode: false, ..self });
        }
        if !self.completion_limit && names(&["max_completion_tokens"]) {
            return Some(Self { completion_limit: true, ..self });
        }
        (self.temperature && names(&["temperature"])).then_some(Self { temperature: false, ..self })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_refused_is_left_out_once() {
        let first = Dialect::default();
        let second = first.without("'response_format' is not supported with this model").unwrap();
        assert!(!second.json_mode && second.temperature);
        assert_eq!(second.without("response_format is not supported"), None);
        let third = second.without("Use 'max_completion_tokens' instead of 'max_tokens'").unwrap();
        let fourth = third.without("Unsupported value: 'temperature' does not support 0").unwrap();
        assert_eq!(fourth, Dialect { json_mode: false, temperature: false, completion_limit: true });
        assert_eq!(first.without("model not found"), None);
    }
}
