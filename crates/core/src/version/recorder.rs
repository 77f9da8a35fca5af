//! How a file is rendered, noted while it is written.

use super::key::Sum;
use super::{Address, Inserted, Layout, LineKey, Step};
use ctxc_transcript::LineNo;
use ctxc_transcript::edit::Splice;
use ctxc_transcript::text::Digest;

/// Takes note of what becomes of each line of a [`super::Base`], in order.
#[derive(Debug)]
pub struct Recorder {
    layout: Layout,
    /// The keys of the stored lines.
    keys: Vec<LineKey>,
    next: u32,
    steps: Vec<Step>,
    sum: Sum,
    changed: Vec<(LineNo, Option<Digest>)>,
}

/// The recorded version and edits.
#[derive(Debug)]
pub struct Recorded {
    /// How the file was rendered.
    pub steps: Vec<Step>,
    /// The sum of its lines.
    pub sum: Sum,
    /// The places of the stored lines that were left out, or written otherwise, with the digests of what was written.
    pub changed: Vec<(LineNo, Option<Digest>)>,
}

impl Recorder {
    /// A recorder of what is rendered from lines that stand as `layout` says, those that are stored with `keys`.
    #[must_use]
    pub fn new(layout: Layout, keys: Vec<LineKey>) -> Self {
        Self { layout, keys, next: 0, steps: Vec::new(), sum: Sum::default(), changed: Vec::new() }
    }

    /// Notes that the next `n_lines` were written as they are.
    pub fn kept(&mut self, n_lines: u32) {
        for _ in 0..n_lines {
            match self.layout.address(LineNo(self.next)) {
                Address::Stored(line) => {
                    self.sum.push(self.keys.get(line.idx()).copied().unwrap_or_else(LineKey::title));
                    match self.steps.last_mut() {
                        Some(Step::Keep(n)) => *n += 1,
                        _ => self.steps.push(Step::Keep(1)),
                    }
                }
                Address::Inserted { operation, at } => {
                    let line = self.layout.inserted(LineNo(self.next)).unwrap_or_default().as_bytes().to_vec();
                    self.push_inserted(Inserted::By { operation, at, splices: Vec::new() }, line);
                }
            }
            self.next += 1;
        }
    }

    /// Notes that the next line was left out.
    pub fn dropped(&mut self) {
        if let Address::Stored(_) = self.layout.address(LineNo(self.next)) {
            match self.steps.last_mut() {
                Some(Step::Drop(n)) => *n += 1,
                _ => self.steps.push(Step::Drop(1)),
            }
            self.changed.push((LineNo(self.next), None));
        }
        self.next += 1;
    }

    /// Notes that the next line was written as `rendered`, with `splices`, its session id aside.
    pub fn edited(&mut self, splices: &[Splice], rendered: &[u8]) {
        let mut splices = splices.to_vec();
        splices.sort_by_key(|splice| (splice.span.start, splice.span.end));
        match self.layout.address(LineNo(self.next)) {
            Address::Stored(_) => {
                self.steps.push(Step::Edit(splices));
                self.sum.push(LineKey::scanned(rendered));
                self.changed.push((LineNo(self.next), Some(Digest::of(rendered))));
            }
            Address::Inserted { operation, at } => {
                let line = rendered.strip_suffix(b"\n").unwrap_or(rendered).to_vec();
                self.push_inserted(Inserted::By { operation, at, splices }, line);
            }
        }
        self.next += 1;
    }

    /// Notes that a line was written that follows from the edits, or is a title.
    pub fn inserted(&mut self, from: Inserted, line: &[u8]) {
        self.push_inserted(from, line.strip_suffix(b"\n").unwrap_or(line).to_vec());
    }

    fn push_inserted(&mut self, from: Inserted, line: Vec<u8>) {
        self.sum.push(LineKey::scanned(&line));
        self.steps.push(Step::Insert(from, line));
    }

    /// Unchanged.
    #[must_use]
    pub fn finish(self) -> Recorded {
        Recorded { steps: self.steps, sum: self.sum, changed: self.changed }
    }
}
