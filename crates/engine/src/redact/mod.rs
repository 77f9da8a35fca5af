//! Secrets out of a text, and back into another.
//!
//! Before a text leaves the machine, each secret in it gives way to a placeholder, `[SECRET-1]`; what comes back gets the
//! secrets again. A secret that a rule finds in one text is replaced wherever it stands in any (G-01). What already looks
//! like a placeholder is replaced as a secret is, so that nothing of a text can be taken for one of ours.
//!
//! A secret is found by what its name means, whatever it looks like (`MYSQL_PASS=`, `Cookie:`, `curl -u`), or by its form:
//! the tokens of providers, PEM blocks, credentials in URLs, also broken over lines and in base64. What has neither, such
//! as a password in a sentence, is not found.

#[cfg(any(test, feature = "fuzzing"))]
mod any;
mod between;
mod command;
mod encoded;
mod header;
mod known;
mod likely;
mod name;
mod pem;
mod redactor;
mod rules;
mod scan;
mod screen;
mod split;
#[cfg(test)]
mod tests;
mod url;
mod value;

#[cfg(any(test, feature = "fuzzing"))]
pub use any::redacts_any;
pub use redactor::{ForeignPlaceholder, Placeholder, Redacted, Redactor, Restored};
