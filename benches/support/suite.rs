//! Which commands are measured, against which limits, and the tables they end in.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufWriter, Read};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::generate::{Options, Shape, Size, generate};
use crate::measure::{Cost, cost, is_there};

const CTXC: &str = env!("CARGO_BIN_EXE_ctxc");
const SMALL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/session-small.jsonl");
/// the longest line of the file.
const LONGEST_LINE: usize = 5_000_000;
///
const PEAK_LIMIT: u64 = 24_000_000;

/// What a requirement asks of a case, as a ratio of its CPU time to that of a peer.
#[derive(Clone, Copy)]
enum Limit {
    /// At most so many times the peer.
    AtMost(f64, &'static str),
    /// At least so many times faster than the peer.
    Faster(f64, &'static str),
}

/// One command of the suite.
struct Case {
    name: &'static str,
    program: &'static str,
    arguments: Vec<String>,
    limits: &'static [Limit],
    /// Q-02 as it applies: a limit of memory, or none.
    peak_limit: Option<u64>,
    /// How many rounds it takes part in at most: jq needs a minute each.
    rounds: usize,
    /// Where its standard output goes.
    stdout: PathBuf,
    /// A file that must hold something afterwards: a command that does nothing is fast, too.
    proof: Option<PathBuf>,
}

/// Where everything lies.
struct Stage {
    home: PathBuf,
    transcript: PathBuf,
    out: PathBuf,
    /// The context at the end of the transcript, in tokens.
    context: u64,
}

/// Generates what is missing, runs all cases and prints the tables.
///
/// # Errors
/// When the transcript cannot be written or a measuring child cannot be started. A case that fails is
/// reported in its row instead.
pub fn run() -> io::Result<()> {
    let megabytes = setting("CTXC_BENCH_MB", 1000)?;
    let rounds = usize::try_from(setting("CTXC_BENCH_ROUNDS", 5)?).unwrap_or(5).max(1);
    let stage = stage(megabytes)?;
    println!("## {megabytes} MB, {rounds} rounds, medians\n");
    whole_file(&stage, rounds)?;
    println!("\n## Start-up\n");
    start_up(&stage)
}

fn setting(name: &str, default: u64) -> io::Result<u64> {
    match std::env::var(name) {
        Ok(value) => value.parse().map_err(|_| io::Error::other(format!("{name} is {value:?}, not a number"))),
        Err(_) => Ok(default),
    }
}

/// The transcript, generated once for each size and state of the generator, in a Claude folder of its own.
fn stage(megabytes: u64) -> io::Result<Stage> {
    let mut source = blake3::Hasher::new();
    source.update(include_bytes!("generate.rs")).update(include_bytes!("words.rs"));
    let version = source.finalize().to_hex().chars().take(8).collect::<String>();
    let home =
        Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("bench").join(format!("large-{megabytes}-{version}"));
    let folder = home.join(".claude/projects/-home-dev-atlas");
    fs::create_dir_all(&folder)?;
    let transcript = folder.join("0b5e55ed-0000-4000-8000-000000000001.jsonl");
    let note = home.join("context.txt");
    if !note.exists() {
        eprintln!("large: writing {megabytes} MB to {}", transcript.display());
        let options = Options {
            size: Size::Bytes(megabytes * 1_000_000),
            shape: Shape::Session,
            seed: 1,
            longest_line: LONGEST_LINE,
        };
        let written = generate(&options, &mut BufWriter::with_capacity(1 << 20, File::create(&transcript)?))?;
        eprintln!("large: {written:?}");
        fs::write(&note, written.context.to_string())?;
    }
    let context = fs::read_to_string(&note)?.trim().parse().map_err(io::Error::other)?;
    Ok(Stage { out: home.join("out.jsonl"), home, transcript, context })
}

fn cases(stage: &Stage) -> Vec<Case> {
    let file = stage.transcript.display().to_string();
    let out = stage.out.display().to_string();
    let peer = |name, program, arguments: &[&str]| Case {
        name,
        program,
        arguments: arguments.iter().map(ToString::to_string).collect(),
        limits: &[],
        peak_limit: None,
        rounds: usize::MAX,
        stdout: stage.home.join("stdout.txt"),
        proof: None,
    };
    let target = (stage.context / 10 * 9).to_string();
    let said = || Some(stage.home.join("stdout.txt"));
    let wrote = || Some(stage.out.clone());
    let rewrite = &[Limit::AtMost(3.0, "cp"), Limit::Faster(30.0, "jq -c .")];
    vec![
        peer("wc -l", "wc", &["-l", &file]),
        peer("cp", "cp", cp_arguments(&file, &out).as_slice()),
        Case { rounds: 1, stdout: stage.out.clone(), ..peer("jq -c .", "jq", &["-c", ".", &file]) },
        Case {
            limits: &[Limit::AtMost(4.0, "wc -l")],
            peak_limit: Some(PEAK_LIMIT),
            ..peer("ctxc check", CTXC, &["check", &file])
        },
        Case {
            limits: &[Limit::AtMost(8.0, "wc -l")],
            peak_limit: Some(PEAK_LIMIT),
            proof: said(),
            ..peer("ctxc stats", CTXC, &["stats", &file])
        },
        Case {
            limits: rewrite,
            peak_limit: Some(PEAK_LIMIT),
            proof: wrote(),
            ..peer(
                "ctxc truncate -o",
                CTXC,
                &["truncate", &file, "--target-tokens", &target, "--no-archive", "--force", "-o", &out],
            )
        },
        // Q-02 adds the texts that compress works on to its memory, so its rows show the sum and no limit.
        Case {
            limits: rewrite,
            proof: wrote(),
            ..peer("ctxc compress -o", CTXC, &compress(&file, &["--no-archive", "-o", &out]))
        },
        Case { proof: wrote(), ..peer("ctxc compress -o, archive", CTXC, &compress(&file, &["-o", &out])) },
        Case {
            limits: &[Limit::AtMost(5.0, "cp")],
            proof: said(),
            ..peer("ctxc compress, new session", CTXC, &compress(&file, &["--no-archive"]))
        },
    ]
}

/// Few edits: one turn in a hundred, with the built-in engine.
fn compress<'a>(file: &'a str, rest: &[&'a str]) -> Vec<&'a str> {
    [&["compress", file, "--bands", "10-11:heavy", "--engine", "extract", "--force"], rest].concat()
}

/// Only GNU cp has to be told to copy for real.
fn cp_arguments<'a>(file: &'a str, out: &'a str) -> Vec<&'a str> {
    if cfg!(target_os = "linux") { vec!["--reflink=never", file, out] } else { vec![file, out] }
}

fn whole_file(stage: &Stage, rounds: usize) -> io::Result<()> {
    let only = std::env::var("CTXC_BENCH_ONLY").unwrap_or_default();
    let cases: Vec<Case> =
        cases(stage).into_iter().filter(|case| case.program != CTXC || case.name.contains(&only)).collect();
    let mut costs: BTreeMap<&str, Vec<Cost>> = BTreeMap::new();
    let mut failures: BTreeMap<&str, String> = BTreeMap::new();
    for case in cases.iter().filter(|case| case.program != CTXC && !is_there(case.program)) {
        failures.insert(case.name, format!("{} is not installed", case.program));
    }
    read_once(&stage.transcript)?;
    for round in 0..rounds {
        for case in cases.iter().filter(|case| round < case.rounds) {
            if failures.contains_key(case.name) {
                continue;
            }
            tidy(stage)?;
            match cost(&command(case.program, &case.arguments, stage), &case.stdout, 1) {
                Ok(_) if !proved(case) => {
                    failures.insert(case.name, "it ended well and wrote nothing".to_owned());
                }
                Ok(cost) => costs.entry(case.name).or_default().push(cost),
                Err(error) => drop(failures.insert(case.name, error.to_string())),
            }
            eprintln!("large: round {} of {rounds}: {}", round + 1, case.name);
        }
    }
    tidy(stage)?;

    println!("| command | CPU s | spread | x `wc -l` | x `cp` | jq is x slower | peak MB | limits |");
    println!("|---|---|---|---|---|---|---|---|");
    let median_of = |name: &str| costs.get(name).map(|costs| median(costs));
    for case in &cases {
        let Some(costs) = costs.get(case.name) else {
            let why = failures.get(case.name).map_or("did not run", String::as_str);
            println!("| `{}` | | | | | | | {why} |", case.name);
            continue;
        };
        let cpu = median(costs);
        let ratio = |peer: &str| median_of(peer).map(|peer| cpu / peer);
        let peak = costs.iter().map(|cost| cost.peak).max().unwrap_or(0);
        let mut verdicts: Vec<String> = case.limits.iter().map(|limit| verdict(*limit, &ratio)).collect();
        if let Some(limit) = case.peak_limit {
            verdicts.push(format!("at most {} MB: {}", limit / 1_000_000, passed(peak <= limit)));
        }
        println!(
            "| `{}` | {cpu:.2} | {} | {} | {} | {} | {:.1} | {} |",
            case.name,
            spread(costs),
            cell(ratio("wc -l")),
            cell(ratio("cp")),
            cell(ratio("jq -c .").map(f64::recip)),
            megabytes(peak),
            verdicts.join("; ")
        );
    }
    Ok(())
}

/// an empty program, `--help` and a small offline command, many times in turn.
fn start_up(stage: &Stage) -> io::Result<()> {
    const ROUNDS: u32 = 15;
    const REPEATS: u32 = 20;
    let empty = stage.home.join("empty");
    let source = stage.home.join("empty.rs");
    fs::write(&source, "fn main() {}\n")?;
    let built = Command::new("rustc").arg("-O").arg("-o").arg(&empty).arg(&source).status();
    if !built.is_ok_and(|status| status.success()) {
        println!("rustc could not build the empty program, so there is nothing to compare with.");
        return Ok(());
    }
    let empty = empty.display().to_string();
    let rows: [(&str, &str, Vec<String>); 4] = [
        ("an empty Rust program", &empty, Vec::new()),
        ("ctxc --help", CTXC, vec!["--help".into()]),
        ("ctxc --version", CTXC, vec!["--version".into()]),
        ("ctxc stats session-small.jsonl", CTXC, vec!["stats".into(), SMALL.into()]),
    ];
    let mut costs: Vec<Result<Vec<Cost>, String>> = rows.iter().map(|_| Ok(Vec::new())).collect();
    for _ in 0..ROUNDS {
        for ((_, program, arguments), so_far) in rows.iter().zip(&mut costs) {
            let Ok(list) = so_far else { continue };
            match cost(&command(program, arguments, stage), Path::new("/dev/null"), REPEATS) {
                Ok(cost) => list.push(cost),
                Err(error) => *so_far = Err(error.to_string()),
            }
        }
    }
    println!("| command | CPU ms | wall ms | x empty (wall) | x empty (CPU) | peak MB | limit |");
    println!("|---|---|---|---|---|---|---|");
    let base = costs.first().and_then(|costs| costs.as_ref().ok()).map(|costs| (median(costs), median_wall(costs)));
    for ((name, program, _), costs) in rows.iter().zip(&costs) {
        let (Ok(costs), Some((base_cpu, base_wall))) = (costs, base) else {
            println!("| `{name}` | | | | | | {} |", costs.as_ref().err().map_or("", String::as_str));
            continue;
        };
        let (cpu, wall) = (median(costs), median_wall(costs));
        let peak = costs.iter().map(|cost| cost.peak).max().unwrap_or(0);
        let limit = if *program == CTXC {
            format!("at most 1.5 x: {}", passed(wall <= base_wall * 1.5))
        } else {
            String::new()
        };
        println!(
            "| `{name}` | {:.2} | {:.2} | {:.2} | {:.2} | {:.1} | {limit} |",
            cpu * 1000.0,
            wall * 1000.0,
            wall / base_wall,
            cpu / base_cpu,
            megabytes(peak)
        );
    }
    Ok(())
}

fn proved(case: &Case) -> bool {
    case.proof.as_ref().is_none_or(|path| fs::metadata(path).is_ok_and(|file| file.len() > 0))
}

/// A command that sees none of the machine's settings, keys or sessions.
fn command(program: &str, arguments: &[String], stage: &Stage) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).env("HOME", &stage.home).env("CLAUDE_CONFIG_DIR", stage.home.join(".claude"));
    command.env("XDG_DATA_HOME", stage.home.join("data")).env("XDG_CONFIG_HOME", stage.home.join("config"));
    command.env("LC_ALL", "C").env("NO_COLOR", "1").env_remove("OPENROUTER_API_KEY");
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("CTXC_")) {
        command.env_remove(name);
    }
    command
}

/// Removes what the last command wrote, so that every run finds the same: outputs, new sessions, the archive.
fn tidy(stage: &Stage) -> io::Result<()> {
    let data = stage.home.join("data");
    if data.exists() {
        fs::remove_dir_all(data)?;
    }
    for output in [&stage.out, &stage.home.join("stdout.txt")] {
        if output.exists() {
            fs::remove_file(output)?;
        }
    }
    let Some(folder) = stage.transcript.parent() else { return Ok(()) };
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path != stage.transcript {
            if path.is_dir() { fs::remove_dir_all(path)? } else { fs::remove_file(path)? }
        }
    }
    Ok(())
}

/// Reads the file into the cache of the system.
fn read_once(path: &Path) -> io::Result<()> {
    let mut file = File::open(path)?;
    let mut buffer = vec![0; 1 << 20];
    while file.read(&mut buffer)? > 0 {}
    Ok(())
}

fn verdict(limit: Limit, ratio: &impl Fn(&str) -> Option<f64>) -> String {
    let (text, holds) = match limit {
        Limit::AtMost(times, peer) => (format!("at most {times} x `{peer}`"), ratio(peer).map(|ratio| ratio <= times)),
        Limit::Faster(times, peer) => {
            (format!("{times} x faster than `{peer}`"), ratio(peer).map(|ratio| ratio * times <= 1.0))
        }
    };
    format!("{text}: {}", holds.map_or("not compared", passed))
}

const fn passed(holds: bool) -> &'static str {
    if holds { "yes" } else { "**no**" }
}

/// The median of the CPU times, in seconds.
fn median(costs: &[Cost]) -> f64 {
    middle(costs.iter().map(|cost| cost.cpu).collect())
}

fn median_wall(costs: &[Cost]) -> f64 {
    middle(costs.iter().map(|cost| cost.wall).collect())
}

fn middle(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times.get(times.len() / 2).map_or(f64::NAN, Duration::as_secs_f64)
}

fn spread(costs: &[Cost]) -> String {
    let seconds = |cost: Option<Duration>| cost.map_or(f64::NAN, |time| time.as_secs_f64());
    let times = || costs.iter().map(|cost| cost.cpu);
    format!("{:.2}-{:.2}", seconds(times().min()), seconds(times().max()))
}

fn cell(ratio: Option<f64>) -> String {
    ratio.map_or_else(String::new, |ratio| format!("{ratio:.2}"))
}

/// For people: tenths of a MB are all that is shown.
#[expect(clippy::cast_precision_loss, reason = "a peak is far below 2^52 bytes")]
fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}
