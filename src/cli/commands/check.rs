//! `ctxc check`: name every problem that would stop or bend a resume.

use anyhow::Context;
use uuid::Uuid;

use crate::cli::error::{CommandError, Completion};
use crate::cli::reading::Reading;
use crate::cli::settings::Reporting;
use crate::cli::stored;
use crate::cli::tell::{self, tell};
use crate::cli::ui::Ui;
use crate::report::check::{CheckReport, Origin};
use ctxc_core::apply::{
    Problem, Severity, Side, Visible, Written, as_written, check, compare, new_problems, outlived_thinking,
};
use ctxc_store::Archive;
use ctxc_transcript::session::Found;
use ctxc_transcript::{Chain, Index};

/// What to check.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) file: Found,
    /// The transcript that the file was made from.
    pub(crate) against: Option<Found>,
    /// The URL of the archive, which knows how the file was made.
    pub(crate) archive: Option<String>,
    pub(crate) reporting: Reporting,
}

pub(crate) fn run(settings: &Settings, ui: &Ui) -> Result<Completion, CommandError> {
    let against_path = settings.against.as_ref().and_then(Found::path);
    tell::probe(&settings.reporting, &[settings.file.path(), against_path].into_iter().flatten().collect::<Vec<_>>())?;
    let mut file = Reading::of(&settings.file, ui)?;
    let report = match &settings.against {
        None => alone(file, settings.archive.as_deref(), ui)?,
        Some(original) => against(&mut file, &mut Reading::of(original, ui)?, ui)?,
    };
    tell(&settings.reporting, ui, &report, &report)?;
    settings.file.path().into_iter().for_each(|path| stored::say_masked(path, ui));
    ui.status(report.summary());
    let has_errors = report.count(Severity::Error, Origin::Own) > 0;
    Ok(if has_errors { Completion::Errors } else { Completion::Full })
}

fn alone(mut file: Reading, archive: Option<&str>, ui: &Ui) -> Result<CheckReport, CommandError> {
    let mut problems = check(&file.index, &file.chain);
    // What there is to be said does not need an archive.
    if let Some(archive) = archive.and_then(|url| stored::open_existing(url).ok()) {
        problems.extend(invalidated_thinking(&mut file, &*archive, ui)?);
        problems.sort_by_key(|problem| (problem.line, problem.kind));
    }
    let problems = problems.into_iter().map(|problem| (problem, Origin::Own)).collect();
    Ok(CheckReport { session: file.session(), file: file.name, against: None, problems })
}

/// The thinking of a version that does not stand behind what it was written behind, as the archive knows it (S-09).
fn invalidated_thinking(file: &mut Reading, archive: &dyn Archive, ui: &Ui) -> Result<Vec<Problem>, CommandError> {
    if file.index.thinking.is_empty() || file.recognise(archive).is_err() {
        return Ok(Vec::new());
    }
    let known = file.past.known.clone().filter(|it| it.version.as_ref().is_some_and(|version| !version.is_plain()));
    let Some(known) = known else { return Ok(Vec::new()) };
    let mut written = Written::default();
    for written_in in as_written(archive, &known)? {
        let index = Index::build(&written_in).with_context(|| format!("read {} as it was", file.name))?;
        let chain = Chain::find(&index);
        let visible =
            Visible::read(&written_in, &index, &chain, None).with_context(|| format!("read {}", file.name))?;
        written.note(Side { index: &index, chain: &chain, visible: &visible });
    }
    let total = file.live_bytes();
    let visible =
        file.again(ui, "comparing", total, |reader, index, chain| Visible::read(reader, index, chain, None))?;
    Ok(outlived_thinking(&written, Side { index: &file.index, chain: &file.chain, visible: &visible }))
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
            let is_same =
                |new: &&Problem| (new.kind, new.line, new.subject) == (problem.kind, problem.line, problem.subject);
            left.next_if(is_same).map_or((problem, Origin::Original), |new| (*new, Origin::Own))
        })
        .chain(compared.into_iter().map(|problem| (problem, Origin::Own)))
        .collect();
    problems.sort_by_key(|(problem, _)| (problem.line, problem.kind));
    Ok(CheckReport { session: file.session(), file: file.name.clone(), against: Some(original.name.clone()), problems })
}
