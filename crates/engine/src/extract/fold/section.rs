//! The headings of a summary.

use crate::language::{Classes, reports_error};

/// What an item of a summary is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Section {
    /// A prompt of the person.
    Asked,
    /// What was decided.
    Decided,
    /// What has to be kept to.
    Rules,
    /// What was tried and failed.
    Failed,
    /// What was found out.
    Found,
    /// What is still to be done.
    Open,
    /// What else was said.
    Also,
}

impl Section {
    /// All of them, in the order in which a summary has them.
    pub(super) const ALL: [Self; 7] =
        [Self::Asked, Self::Decided, Self::Rules, Self::Failed, Self::Found, Self::Open, Self::Also];

    /// The line above its items.
    pub(super) const fn heading(self) -> &'static str {
        match self {
            Self::Asked => "Asked:",
            Self::Decided => "Decided:",
            Self::Rules => "Rules:",
            Self::Failed => "Failed:",
            Self::Found => "Found:",
            Self::Open => "Open:",
            Self::Also => "Also:",
        }
    }

    /// The section that `line` is the heading of.
    pub(super) fn with_heading(line: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|section| section.heading() == line)
    }

    /// The section of a sentence or line of these classes. What a program reports as an error is one, whatever else
    /// its words say.
    pub(super) fn of(text: &str, classes: Classes) -> Self {
        let first = |sections: &[(Classes, Self)]| {
            sections.iter().find(|(class, _)| classes.has(*class)).map_or(Self::Also, |(_, section)| *section)
        };
        if classes.has(Classes::ERROR) && reports_error(text) {
            return Self::Failed;
        }
        first(&[
            (Classes::DECISION, Self::Decided),
            (Classes::ERROR, Self::Failed),
            (Classes::RULE, Self::Rules),
            (Classes::TODO, Self::Open),
            (Classes::FINDING, Self::Found),
        ])
    }
}
