//! The features of the facts of transcripts, for `benches/keep/needs/learn.py`.
//!
//! Reads paths from standard input, and writes for each a line of JSON: the names of its facts with their features.

#![expect(clippy::print_stdout, reason = "its output is what it is for")]

use std::collections::BTreeMap;
use std::error::Error;
use std::fs::File;

use ctxc_core::apply::read_needs;
use ctxc_transcript::{Chain, Index};

fn main() -> Result<(), Box<dyn Error>> {
    for path in std::io::stdin().lines() {
        let file = File::open(path?)?;
        let index = Index::build(&file)?;
        let needs = read_needs(&file, &index, &Chain::find(&index).lines)?;
        let features: BTreeMap<_, _> = needs.facts_with_features().collect();
        println!("{}", serde_json::to_string(&features)?);
    }
    Ok(())
}
