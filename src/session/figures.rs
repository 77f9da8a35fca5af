//! Figures from the archive about a session that ctxc made (W-14).

use std::fs::File;
use std::path::Path;

use crate::report::overview::UsageOrigin;
use ctxc_store::{Archive, Operation, OperationCost, OperationSelection};
use ctxc_transcript::scan::Scan;
use ctxc_transcript::text::{Digest, Tokens};
use ctxc_transcript::{Calibration, Chain, Flags, Index, Usage, read_line};

/// The figures that a session inherits from the one that it was made from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InheritedFigures {
    factor: f64,
    overhead: Tokens,
}

impl InheritedFigures {
    /// The figures of the newest operation that wrote the session at `path`; `None` if the archive has none.
    pub(crate) fn read_from_archive(archive: &dyn Archive, path: &Path) -> Option<Self> {
        let path = std::path::absolute(path).ok()?;
        archive.find_operations(OperationSelection::At(&path)).ok()?.iter().rev().find_map(Self::of_operation)
    }

    fn of_operation(operation: &Operation) -> Option<Self> {
        let OperationCost { factor, tokens_after, .. } = operation.cost.filter(|it| it.factor > 0.0)?;
        let (_, after) = operation.tokens?;
        let measure = Calibration::CHARS4.with_base(factor, Tokens::ZERO);
        Some(Self { factor, overhead: Tokens(tokens_after).saturating_sub(measure.scale_to_api(after)) })
    }

    /// The calibration of a session, with the inherited figures if there are any.
    pub(crate) fn calibration_with(inherited: Option<Self>, index: &Index, chain: &Chain) -> Calibration {
        let learnt = Calibration::learn_from_usage(index, chain);
        inherited.map_or(learnt, |Self { factor, overhead }| learnt.with_base(factor, overhead))
    }
}

/// The last usage that the client recorded in the session in `file`, if ctxc has lowered it since (S-06); `None` if the archive
/// cannot be read.
pub(crate) fn lowered_from(archive: &dyn Archive, file: &File, index: &Index, chain: &Chain) -> Option<Tokens> {
    let mut messages = chain.live_messages(index).rev().map(|(_, line)| line);
    let line = messages.find(|&line| index.record(line).flags.any(Flags::USAGE))?;
    let mut buffer = Vec::new();
    let now = read_line(file, index, line, &mut buffer).ok()?;
    let original = archive.original_replaced_by(Digest::of(now)).ok()??;
    let before = archive.read_line(original.digest).ok()??;
    let context = |line: &[u8]| {
        Scan::of(line).message.and_then(|message| message.usage).map(|it| Usage::of(it.of(line)).context_size())
    };
    context(&before).filter(|before| Some(*before) > context(now)).map(Tokens)
}

/// The origin of the context usage: the client, or ctxc if it lowered the figure, as long as no visible content follows it.
pub(crate) fn usage_origin(
    index: &Index,
    chain: &Chain,
    lowered_from: Option<Tokens>,
    calibration: &Calibration,
) -> UsageOrigin {
    let mut after = chain.lines.iter().rev().take_while(|line| !index.record(**line).flags.any(Flags::USAGE));
    let is_nothing_new = after.all(|line| index.record(*line).tokens == 0);
    match lowered_from {
        Some(_) if is_nothing_new => UsageOrigin::Ctxc,
        None if is_nothing_new && calibration.is_anchored => UsageOrigin::Client,
        Some(_) | None => UsageOrigin::Estimate,
    }
}
