//! How many of the facts of real texts survive the built-in engine, against plain head truncation and, if a
//! second file is given, against any other shortener.
//!
//! `cargo run --release --example facts_kept -- TEXTS [OTHER.json]`
//!
//! TEXTS is a JSON array of strings, or a transcript (`.jsonl`) whose prompts and answers of 60 tokens and
//! more are taken. OTHER is `{"35": [...], "10": [...]}`, one result for each text, as
//! `examples/sumy_textrank.py` writes it. `--show FROM-TO` prints texts beside their results instead;
//! `--texts` prints the texts as a JSON array.

#![expect(clippy::print_stdout, reason = "its table is what it is for")]

use std::collections::{BTreeMap, HashSet};
use std::error::Error;
use std::fs;
use std::path::Path;

use ctxc::engine::{Extract, Job};
use ctxc::text::{Carried, Classes, FactKind, PieceKind, Tokens, chars4, classes, facts, segment};
use serde_json::Value;

/// The engine never gets a smaller target.
const LEAST_TOKENS: u64 = 15;
/// Texts below this many tokens are left out when a transcript is read.
const SHORTEST: Tokens = Tokens(60);

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let Some(path) = args.first() else { return Err("give a file of texts or a transcript".into()) };
    let texts = read_texts(path)?;
    match args.get(1).map(String::as_str) {
        Some("--texts") => println!("{}", serde_json::to_string(&texts)?),
        Some("--show") => show(&texts, args.get(2).map_or("0-10", String::as_str))?,
        other => {
            let other = other.map(read_other).transpose()?;
            for percent in [35, 10] {
                table(&texts, percent, other.as_ref().and_then(|other| other.get(&percent.to_string())))?;
            }
        }
    }
    Ok(())
}

fn read_texts(path: &str) -> Result<Vec<String>, Box<dyn Error>> {
    let content = fs::read_to_string(path)?;
    if Path::new(path).extension().is_none_or(|extension| extension != "jsonl") {
        return Ok(serde_json::from_str(&content)?);
    }
    let mut seen = HashSet::new();
    let entries = content.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    Ok(entries
        .filter_map(|entry| spoken(&entry))
        .filter(|text| chars4(text) >= SHORTEST && seen.insert(text.clone()))
        .collect())
}

/// What a person or the model said in an entry.
fn spoken(entry: &Value) -> Option<String> {
    let is_message = matches!(entry.get("type")?.as_str()?, "user" | "assistant");
    if !is_message || entry.get("isMeta").and_then(Value::as_bool) == Some(true) {
        return None;
    }
    let content = entry.get("message")?.get("content")?;
    if let Some(text) = content.as_str() {
        return Some(text.to_owned());
    }
    let texts = content.as_array()?.iter().filter_map(|block| block.get("text").and_then(Value::as_str));
    Some(texts.collect::<Vec<_>>().join("\n"))
}

type Other = BTreeMap<String, Vec<String>>;

fn read_other(path: &str) -> Result<Other, Box<dyn Error>> {
    Ok(serde_json::from_str(&fs::read_to_string(path)?)?)
}

fn target(text: &str, percent: u64) -> Tokens {
    Tokens((chars4(text).0 * percent / 100).max(LEAST_TOKENS))
}

fn extract(text: &str, percent: u64) -> String {
    Extract.shrink(&Job { text, target: target(text, percent) }).text
}

fn head(text: &str, percent: u64) -> String {
    let mut left = target(text, percent).0 * 4;
    let fits = |c: &char| {
        let n_units = c.len_utf16() as u64;
        let ok = n_units <= left;
        left = left.saturating_sub(n_units);
        ok
    };
    text.chars().take_while(fits).collect()
}

/// Kept and total, by row.
type Score = BTreeMap<(usize, &'static str), (usize, usize)>;

fn add(score: &mut Score, text: &str, result: &str) {
    let carried = Carried::by(result);
    for fact in facts(text) {
        let row = FactKind::ALL.iter().position(|kind| *kind == fact.kind).unwrap_or_default();
        count(score, (row, fact.kind.name()), carried.has(&fact));
    }
    let rows = [
        ("decisions", Classes::DECISION),
        ("rules", Classes::RULE),
        ("findings", Classes::FINDING),
        ("todos", Classes::TODO),
    ];
    for piece in segment(text).iter().filter(|piece| matches!(piece.kind, PieceKind::Sentence | PieceKind::Item)) {
        for (n, (name, class)) in rows.iter().enumerate() {
            if classes(piece.text).has(*class) {
                count(score, (20 + n, name), result.contains(piece.text.trim()));
            }
        }
    }
}

fn count(score: &mut Score, row: (usize, &'static str), is_kept: bool) {
    let (kept, total) = score.entry(row).or_default();
    *kept += usize::from(is_kept);
    *total += 1;
}

fn table(texts: &[String], percent: u64, other: Option<&Vec<String>>) -> Result<(), Box<dyn Error>> {
    let mut columns = vec![("extract", texts.iter().map(|text| extract(text, percent)).collect::<Vec<_>>())];
    columns.push(("head", texts.iter().map(|text| head(text, percent)).collect()));
    columns.extend(other.map(|other| ("TextRank", other.clone())));
    let scores: Vec<Score> = columns
        .iter()
        .map(|(_, results)| {
            let mut score = Score::new();
            texts.iter().zip(results).for_each(|(text, result)| add(&mut score, text, result));
            score
        })
        .collect();
    let before: Tokens = texts.iter().map(|text| chars4(text)).sum();
    println!("\n{} texts, {before} tokens, at {percent} %\n", texts.len());
    print!("| kept | of |");
    for (name, _) in &columns {
        print!(" {name} |");
    }
    print!("\n|---|--:|");
    print!("{}", "--:|".repeat(columns.len()));
    println!();
    let first = scores.first().ok_or("there is always the engine's own column")?;
    for (row, (_, total)) in first {
        print!("| {} | {total} |", row.1);
        for score in &scores {
            print!(" {} % |", score.get(row).map_or(0, |(kept, total)| (kept * 100 + total / 2) / total));
        }
        println!();
    }
    print!("| tokens | {before} |");
    for (_, results) in &columns {
        print!(" {} |", results.iter().map(|result| chars4(result)).sum::<Tokens>());
    }
    let off = |results: &[String]| {
        texts
            .iter()
            .zip(results)
            .filter(|(text, result)| {
                chars4(result).0 * 100 > target(text, percent).0 * 115
                    || chars4(result).0 * 100 < target(text, percent).0 * 85
            })
            .count()
    };
    print!("\n| off target by more than 15 % | {} |", texts.len());
    for (_, results) in &columns {
        print!(" {} |", off(results));
    }
    println!();
    Ok(())
}

fn show(texts: &[String], range: &str) -> Result<(), Box<dyn Error>> {
    let (from, to) = range.split_once('-').ok_or("a range is FROM-TO")?;
    let (from, to): (usize, usize) = (from.parse()?, to.parse()?);
    for (n, text) in texts.iter().enumerate().take(to).skip(from) {
        println!("=========== {n}: {} tokens\n{text}", chars4(text));
        for percent in [35, 10] {
            let result = extract(text, percent);
            println!("----------- {percent} %: {} of {} tokens\n{result}", chars4(&result), target(text, percent));
        }
    }
    Ok(())
}
