//! What servers do not have in common: parameters that one of them refuses, and that a request can do without.

/// How a request is put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dialect {
    /// How a JSON object is asked for.
    pub(super) form: Form,
    /// Whether a temperature is set.
    pub(super) temperature: bool,
    /// Whether the limit of the reply is called `max_completion_tokens`.
    pub(super) completion_limit: bool,
}

/// How a server is asked for a JSON object, by `response_format`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// By its schema: a small model that is only asked for some object writes an empty one.
    Schema,
    /// By its kind: the prompt alone says what is in it.
    Object,
    /// Not at all.
    Asked,
}

impl Default for Dialect {
    fn default() -> Self {
        Self { form: Form::Schema, temperature: true, completion_limit: false }
    }
}

impl Form {
    /// What is asked for where a server does not take this.
    const fn weaker(self) -> Option<Self> {
        match self {
            Self::Schema => Some(Self::Object),
            Self::Object => Some(Self::Asked),
            Self::Asked => None,
        }
    }
}

impl Dialect {
    /// The dialect without what a server refused with `message`; `None` where the message names nothing that this one
    /// could do without.
    pub(super) fn without(self, message: &str) -> Option<Self> {
        let message = message.to_lowercase();
        let names = |words: &[&str]| words.iter().any(|word| message.contains(word));
        let is_form = names(&["response_format", "json_object", "json mode", "json_schema", "schema", "grammar"]);
        if let Some(form) = self.form.weaker().filter(|_| is_form) {
            return Some(Self { form, ..self });
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
        let refused = "'response_format' is not supported with this model";
        let first = Dialect::default();
        let second = first.without("This response_format type is unavailable now").unwrap();
        assert_eq!(second, Dialect { form: Form::Object, ..first });
        let third = second.without(refused).unwrap();
        assert_eq!(third, Dialect { form: Form::Asked, ..first });
        assert_eq!(third.without(refused), None);
        let fourth = third.without("Use 'max_completion_tokens' instead of 'max_tokens'").unwrap();
        let fifth = fourth.without("Unsupported value: 'temperature' does not support 0").unwrap();
        assert_eq!(fifth, Dialect { form: Form::Asked, temperature: false, completion_limit: true });
        assert_eq!(first.without("model not found"), None);
        assert_eq!(first.without("failed to parse grammar"), Some(second));
    }
}
