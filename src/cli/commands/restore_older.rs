//! `ctxc restore --op` with an operation that others came after: it is undone, and they stay.

use std::fs::File;
use std::io::{self, Seek};

use anyhow::{Context, anyhow};

use super::restore::Settings;
use crate::apply::{Rewrite, ThinkingReach, without};
use crate::archive::{Archive, Cut, Operation};
use crate::cli::error::{CommandError, Completion};
use crate::cli::rewriting::Work;
use crate::cli::settings::Mode;
use crate::cli::stored;
use crate::cli::tell::tell;
use crate::cli::ui::Ui;
use crate::report::undone::{KeptRow, UndoneReport};
use crate::transcript::session::Found;

/// Whether both files hold the same.
fn is_same(left: &File, right: &File) -> io::Result<bool> {
    let digest = |mut file: &File| {
        let mut hasher = blake3::Hasher::new();
        file.rewind()?;
        io::copy(&mut file, &mut hasher)?;
        io::Result::Ok(hasher.finalize())
    };
    Ok(digest(left)? == digest(right)?)
}

/// Undoes the operation at `at` of `lineage`, whose newest made the session.
pub(super) fn run(
    settings: &Settings,
    lineage: &[Operation],
    at: usize,
    archive: &dyn Archive,
    ui: &Ui,
) -> Result<Completion, CommandError> {
    let rewriting = &settings.rewriting;
    if rewriting.source == Found::StandardInput {
        return Err(CommandError::usage(anyhow!("undo an older operation of what comes through a pipe"))
            .hint("write the transcript to a file first, and give its path"));
    }
    let mut work = Work::open(rewriting, ui)?;
    let reading = &mut work.reading;
    let session = stored::last_session(&mut reading.file)?;
    let without = without(&mut reading.file, &reading.index, lineage, at, session.as_deref(), archive)?;
    let (back, again): (Vec<&Cut>, Vec<&Cut>) = without.cuts.iter().partition(|cut| cut.rule == Cut::RESTORE);
    let names = |cuts: Vec<&Cut>| cuts.into_iter().map(|cut| cut.name.clone()).collect();
    let undone = lineage.get(at);
    let mut report = UndoneReport {
        rewritten: work.rewritten("restore"),
        undone: undone.map(|it| it.id.clone()).unwrap_or_default(),
        command: undone.map(|it| it.command.clone()).unwrap_or_default(),
        later: at as u64,
        restored: names(back),
        cut_again: names(again),
        kept: without.kept.iter().map(|cut| KeptRow { name: cut.name.clone(), by: cut.last.clone() }).collect(),
    };
    let mut rewrite = Rewrite::default();
    if !is_same(&work.reading.file, &without.draft)? {
        let draft = without.draft.try_clone()?;
        work.reading.draft(draft).with_context(|| format!("read what is left of {}", work.reading.name))?;
        rewrite = without.rewrite(&work.reading.index, &work.reading.chain, work.totals);
    }
    work.finish(rewrite, ThinkingReach::BehindChange, "nothing is left of that operation", &mut report.rewritten)?;
    if rewriting.mode == Mode::Show {
        tell(&rewriting.reporting, ui, &report, format_args!("{}\n", report.to_string().trim_end()))?;
    } else {
        work.say(&report.rewritten, &report, &report)?;
    }
    Ok(Completion::Full)
}
