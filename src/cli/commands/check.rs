//! `ctxc check`: name every problem that would stop or bend a resume.

use uuid::Uuid;

use crate::apply::{Severity, Side, Visible, check, compare, new_problems};
use crate::cli::error::{CommandError, Completion};
use crate::cli::reading::Reading;
use crate::cli::settings::Reporting;
use crate::cli::tell::{self, tell};
use crate::cli::ui::Ui;
use crate::report::check::{CheckReport, Origin};
use crate::transcript::session::Found;

/// What to check.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) file: Found,
    /// The transcript that the file was made from.
    pub(crate) against: Option<Found>,
    pub(crate) reporting: Reporting,
}

pub(crate) fn run(settings: &Settings, ui: &Ui) -> Result<Completion, CommandError> {
    let against_path = settings.against.as_ref().and_then(Found::path);
    tell::probe(&settings.reporting, &[settings.file.path(), against_path].into_iter().flatten().collect::<Vec<_>>())?;
    let mut file = Reading::of(&settings.file, ui)?;
    let report = match &settings.against {
        None => alone(file),
        Some(original) => against(&mut file, &mut Reading::of(original, ui)?, ui)?,
    };
    tell(&settings.reporting, ui, &report, &report)?;
    ui.status(report.summary());
    let has_errors = report.count(Severity::Error, Origin::Own) > 0;
    Ok(if has_errors { Completion::Errors } else { Completion::Full })
}

fn alone(file: Reading) -> CheckReport {
    let problems = check(&file.index, &file.chain);
    let problems = problems.into_iter().map(|problem| (problem, Origin::Own)).collect();
    CheckReport { file: file.name, against: None, problems }
}

fn against(file: &mut Reading, original: &mut Reading, ui: &Ui) -> Result<CheckReport, CommandError> {
    // Under another id, paths into the folder of the old session lead away from the new one (S-01).
    let old_session = original
        .stem
        .clone()
        .filter(|stem| Uuid::parse_str(stem).is_ok())
        .filter(|stem| file.stem.as_ref().is_some_and(|own| own != stem));
    let total = original.live_bytes();
    let before =
        original.again(ui, "comparing", total, |reader, index, chain| Visible::read(reader, index, chain, None))?;
    let total = file.live_bytes();
    let after = file.again(ui, "comparing", total, |reader, index, chain| {
        Visible::read(reader, index, chain, old_session.as_deref())
    })?;

    let of_original = check(&original.index, &original.chain);
    let all = check(&file.index, &file.chain);
    let new = new_problems(&of_original, all.clone());
    let compared = compare(
        Side { index: &original.index, chain: &original.chain, visible: &before },
        Side { index: &file.index, chain: &file.chain, visible: &after },
    );
    let mut left = new.iter().peekable();
    let mut problems: Vec<_> = all
        .into_iter()
        .map(|problem| {
            // What is new stands in the order of all, and may count as worse.
            let is_same = |new: &&crate::apply::Problem| {
                (new.kind, new.line, new.subject) == (problem.kind, problem.line, problem.subject)
            };
            left.next_if(is_same).map_or((problem, Origin::Original), |new| (*new, Origin::Own))
        })
        .chain(compared.into_iter().map(|problem| (problem, Origin::Own)))
        .collect();
    problems.sort_by_key(|(problem, _)| (problem.line, problem.kind));
    Ok(CheckReport { file: file.name.clone(), against: Some(original.name.clone()), problems })
}
