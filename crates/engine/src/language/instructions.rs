//! The instructions of a slash command or a skill in short: its rules word for word, and its steps in order.

use super::piece::{Piece, PieceKind};
use super::segment::split_into_pieces;

/// The most bytes of rules, of the titles of steps, and of one of each.
const RULES: usize = 800;
const TITLES: usize = 600;
const RULE: usize = 400;
const TITLE: usize = 72;
/// The most bytes of steps that are still to come, with their commands.
const STEPS: usize = 900;
/// The most bytes of steps before any is known to be done, with their commands.
const ALL_STEPS: usize = 2400;
/// The most commands of a step, and the most bytes of one.
const COMMANDS: usize = 3;
const COMMAND_BYTES: usize = 160;
/// The most words of a program with its subcommands.
const NAME_WORDS: usize = 4;
/// The line before the steps, and the start of each.
const STEPS_TITLE: &str = "Its steps:";
const STEP_START: &str = "- ";
/// Between the title of a step and its commands, and between those.
const WITH: &str = ": `";
const AND: &str = "`; `";
/// Programs that any step may run.
const COMMON: [&str; 14] =
    ["cd", "echo", "cat", "ls", "export", "test", "grep", "mkdir", "rm", "sleep", "cp", "mv", "printf", "set"];
/// The same of the subcommands of git.
const COMMON_IN_GIT: [&str; 7] = ["status", "diff", "log", "add", "show", "branch", "checkout"];
/// Marks what is left out.
const CUT: &str = "[...]";
/// Words in capitals that mark a rule.
const MARKS: [&str; 6] = ["NEVER", "ONLY", "MUST", "MANDATORY", "CRITICAL", "FORBIDDEN"];
/// Openings of a rule that says nothing without the sentence before it.
const BACKWARD: [&str; 7] = ["these ", "this ", "those ", "they ", "it ", "only then", "then "];
/// Openings of a rule, and words that make one in languages without capitals.
const OPENINGS: [&str; 7] = ["never ", "never:", "do not ", "don't ", "niemals ", "ne jamais ", "nunca "];
const WIDE_MARKS: [&str; 10] =
    ["必ず", "禁止", "絶対に", "しないこと", "てはいけない", "てはならない", "必须", "不要", "不得", "严禁"];
/// Words before the number of a step.
const STEP_WORDS: [&str; 9] = ["step ", "phase ", "stage ", "schritt ", "étape ", "paso ", "ステップ", "手順", "步骤"];
/// The first line, around the name, while a command and a skill are followed.
const COMMAND: [&str; 2] = ["While ", " runs:"];
const SKILL: [&str; 2] = ["While the skill ", " is used:"];

/// A step of instructions.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Step<'t> {
    /// The level of its heading.
    level: usize,
    title: &'t str,
    /// The commands in its blocks of code, each on one line.
    commands: Vec<String>,
}

impl Step<'_> {
    /// The step in a line, with its first `n_commands` commands.
    fn render_line(&self, n_commands: usize) -> String {
        let commands = self.commands.get(..n_commands.min(self.commands.len())).unwrap_or_default();
        match commands {
            [] => format!("{STEP_START}{}", self.title),
            _ => format!("{STEP_START}{}{WITH}{}`", self.title, commands.join(AND)),
        }
    }
}

/// The rules and the steps in `text`, the instructions of the slash command or the skill `name`; code decides nothing, but the
/// commands of a step are kept with it. `[...]` marks rules and steps that are left out.
#[must_use]
pub fn summarize_instructions(name: &str, text: &str) -> String {
    let pieces = split_into_pieces(text);
    let mut rules: Vec<String> = Vec::new();
    let mut steps: Vec<Step<'_>> = Vec::new();
    let (mut is_cut, mut is_shell) = (false, false);
    for (at, piece) in pieces.iter().enumerate() {
        match piece.kind {
            PieceKind::Heading if piece.text.starts_with('#') => {
                let level = piece.text.bytes().take_while(|byte| *byte == b'#').count();
                let title = step_of_heading(piece.text);
                let step = title.map(|title| Step { level, title, commands: Vec::new() });
                steps.extend(step.filter(|step| !steps.iter().any(|known| known.title == step.title)));
            }
            PieceKind::FenceOpen => is_shell = opens_shell(piece.text),
            PieceKind::Code if is_shell => {
                if let Some(step) = steps.last_mut() {
                    add_command_line(&mut step.commands, piece.text);
                }
            }
            PieceKind::Heading | PieceKind::Sentence | PieceKind::Item if lays_down(piece.text) => {
                let room = RULES.saturating_sub(rules.iter().map(|rule| rule.len() + 1).sum());
                let Some(rule) = rule_at(&pieces, at).filter(|rule| !rules.contains(rule)) else { continue };
                if rule.len() <= RULE.min(room) { rules.push(rule) } else { is_cut = true }
            }
            _ => {}
        }
    }
    rules.extend(is_cut.then(|| CUT.to_owned()));
    for step in &mut steps {
        step.commands.retain(|command| command_name(command).is_some() && !command.ends_with('\\'));
        step.commands.truncate(COMMANDS);
    }
    rules.extend(render_steps(&steps, false, ALL_STEPS));
    let [before, behind] = if name.starts_with('/') { COMMAND } else { SKILL };
    std::iter::once(format!("{before}{name}{behind}")).chain(rules).collect::<Vec<_>>().join("\n")
}

/// The `summary` of instructions after `commands` were run: steps up to the last one with a command that was run are left out,
/// and of the others the nearest have their commands.
#[must_use]
pub(crate) fn leave_out_taken_steps(summary: &str, commands: &[&str]) -> String {
    let Some((before, listed)) = summary.split_once(&format!("\n{STEPS_TITLE}\n")) else { return summary.to_owned() };
    let lines = listed.lines().filter_map(|line| line.strip_prefix(STEP_START));
    let (cut, steps): (Vec<Step<'_>>, _) = lines.map(parse_step).partition(|step| step.title == CUT);
    let was_run = |step: &Step<'_>| {
        step.commands.iter().filter_map(|command| command_name(command)).any(|name| {
            commands
                .iter()
                .any(|run| run.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(' ')))
        })
    };
    let n_taken = steps.iter().rposition(was_run).map_or(0, |last| last + 1);
    let rest = steps.get(n_taken..).unwrap_or_default();
    let lines = render_steps(rest, n_taken > 0 || !cut.is_empty(), STEPS);
    std::iter::once(before.to_owned()).chain(lines).collect::<Vec<_>>().join("\n")
}

/// The lines of `steps` in about `most` bytes; of too many, first those within another go, then the earliest, since the last are
/// still to come. The first have their commands, as far as there is room.
fn render_steps(steps: &[Step<'_>], mut is_cut: bool, most: usize) -> Vec<String> {
    let n_bytes = |steps: &[&Step<'_>]| steps.iter().map(|step| step.title.len() + 3).sum::<usize>();
    let mut shown: Vec<&Step<'_>> = steps.iter().collect();
    let top = steps.iter().map(|step| step.level).min().unwrap_or_default();
    if n_bytes(&shown) > most.min(TITLES) {
        shown.retain(|step| step.level == top);
    }
    while shown.len() > 1 && n_bytes(&shown) > most.min(TITLES) {
        shown.remove(0);
    }
    is_cut |= shown.len() < steps.len();
    let mut room = most.saturating_sub(n_bytes(&shown));
    let lines = shown.into_iter().map(|step| {
        let bare = step.render_line(0).len();
        let fits = |n: &usize| step.render_line(*n).len() - bare <= room;
        let line = step.render_line((0..=step.commands.len()).rev().find(fits).unwrap_or_default());
        room -= line.len() - bare;
        line
    });
    let lines: Vec<String> = is_cut.then(|| format!("{STEP_START}{CUT}")).into_iter().chain(lines).collect();
    if lines.is_empty() { lines } else { [vec![STEPS_TITLE.to_owned()], lines].concat() }
}

/// The step in a line of a summary, without its start.
fn parse_step(line: &str) -> Step<'_> {
    let (title, commands) = line.strip_suffix('`').and_then(|line| line.split_once(WITH)).unwrap_or((line, ""));
    let commands = commands.split(AND).filter(|command| !command.is_empty()).map(str::to_owned).collect();
    Step { level: 0, title, commands }
}

/// The languages of fences that have commands.
pub(crate) const SHELLS: [&str; 5] = ["bash", "sh", "shell", "zsh", "console"];

/// Whether a fence is of commands of a shell, or of no language.
pub(crate) fn opens_shell(fence: &str) -> bool {
    let language = fence.trim_matches(['`', '~', ' ']);
    language.is_empty() || SHELLS.contains(&language)
}

/// Adds a line of a block of commands: a line after a backslash goes on with the last.
fn add_command_line(commands: &mut Vec<String>, line: &str) {
    let line = line.trim().trim_start_matches("$ ");
    match commands.last_mut().filter(|last| last.ends_with('\\')) {
        Some(last) if last.len() + line.len() <= COMMAND_BYTES => {
            last.pop();
            last.push_str(line);
        }
        Some(last) => {
            last.truncate(last.trim_end_matches('\\').trim_end().len());
        }
        None if !line.contains('`') && line.len() <= COMMAND_BYTES => commands.push(line.to_owned()),
        None => {}
    }
}

/// The program and its subcommands, by which a command is known again; `None` for one that any step may run.
fn command_name(command: &str) -> Option<&str> {
    let is_name = |word: &&str| word.starts_with(|c: char| c.is_ascii_lowercase() || matches!(c, '.' | '/' | '@'));
    let words: Vec<&str> = command
        .split(' ')
        .take_while(|word| is_name(word) && !word.contains(['=', '<', '$']))
        .take(NAME_WORDS)
        .collect();
    let is_common = match words.as_slice() {
        [] | [_] => true,
        ["git", sub, ..] => COMMON_IN_GIT.contains(sub),
        [program, ..] => COMMON.contains(program),
    };
    let len = words.iter().map(|word| word.len() + 1).sum::<usize>().saturating_sub(1);
    command.get(..len).filter(|_| !is_common)
}

/// The name in the first line of such a summary, with the arguments: that of a slash command begins with a slash.
#[must_use]
pub fn name_of_instructions(summary: &str) -> Option<&str> {
    let first = summary.lines().next()?;
    let within = |[before, behind]: [&str; 2]| first.strip_prefix(before)?.strip_suffix(behind);
    within(SKILL).or_else(|| within(COMMAND).filter(|name| name.starts_with('/')))
}

/// The title of a heading that numbers a step, without its marks.
fn step_of_heading(heading: &str) -> Option<&str> {
    let title = heading.trim_start_matches(['#', ' ', '*']);
    let lower = title.to_lowercase();
    let number = STEP_WORDS.iter().find_map(|word| lower.strip_prefix(word)).unwrap_or(&lower);
    let is_numbered = number.starts_with(|c: char| c.is_ascii_digit());
    let end = title.char_indices().map(|(at, c)| at + c.len_utf8()).take_while(|end| *end <= TITLE).last()?;
    title.get(..end).filter(|_| is_numbered).map(|step| step.trim_end_matches(['*', ' ', ':']))
}

/// The rule at `at`, with the items that it introduces.
fn rule_at(pieces: &[Piece<'_>], at: usize) -> Option<String> {
    let piece = pieces.get(at)?;
    let mut rule = piece.text.trim_start_matches(['-', '*', '+', '>', ' ']).to_owned();
    // A bold mark at its start is closed within it.
    if piece.text.trim_start_matches(['-', '+', '>', ' ']).starts_with("**") {
        rule.insert_str(0, "**");
    }
    if !piece.is_introduction() {
        return Some(rule);
    }
    let items = pieces.get(at + 1..)?.iter().take_while(|piece| piece.kind == PieceKind::Item);
    let items: Vec<&str> = items.map(|item| item.text.trim_start_matches(['-', '*', '+', ' '])).collect();
    // It says nothing without them.
    (!items.is_empty()).then(|| format!("{rule} {}", items.join("; ")))
}

/// Whether the piece is a rule by its words; those that it quotes are of something else.
fn lays_down(text: &str) -> bool {
    let said: String = text.split(['`', '"']).step_by(2).collect();
    let bare = said.trim_start_matches(|c: char| !c.is_alphabetic()).to_lowercase();
    let words = || said.split(|c: char| !c.is_alphanumeric()).collect::<Vec<_>>();
    if BACKWARD.iter().any(|opening| bare.starts_with(opening)) {
        return false;
    }
    MARKS.iter().any(|mark| words().contains(mark))
        || words().windows(2).any(|pair| matches!(pair, ["DO" | "Do" | "do", "NOT"]))
        || OPENINGS.iter().any(|opening| bare.starts_with(opening))
        || WIDE_MARKS.iter().any(|mark| said.contains(mark))
}

#[cfg(test)]
mod tests {
    use super::*;

    // K-11
    #[test]
    fn k_11_of_instructions_the_rules_stay_and_the_steps_in_order() {
        let text = "# /ship\n\nShips it. The tool must be there.\n\n**NEVER** run these:\n\n- `gh pr close`\n- `gh pr merge`\n\n\
            ### Step 1: Read the plan\n\nIgnoring `CRITICAL` tags costs time.\n\n```md\n### Step 9: Example\nNEVER do this.\n```\n\n\
            ### Step 2: Resolve all (MANDATORY)\n\n- Do not edit `plan.md`\n- 必ずテストを実行する\n\n**Never:**\n\n## Notes\n";
        let short = summarize_instructions("/ship --now", text);
        assert_eq!(
            short,
            "While /ship --now runs:\n**NEVER** run these: `gh pr close`; `gh pr merge`\nDo not edit `plan.md`\n必ずテストを実行する\n\
             Its steps:\n- Step 1: Read the plan\n- Step 2: Resolve all (MANDATORY)"
        );
        assert_eq!(name_of_instructions(&short), Some("/ship --now"));
        let skill = summarize_instructions("cook", "Only text.");
        assert_eq!((skill.as_str(), name_of_instructions(&skill)), ("While the skill cook is used:", Some("cook")));
        let step = |n: usize| format!("## Step {n}: Read the part {n} of the plan\n\n### {n}.1 Look\n\n");
        let long = (1..=20).map(step).collect::<Vec<_>>().concat();
        let long = summarize_instructions("/x", &long);
        assert!(
            long.contains("Its steps:\n- [...]\n- Step 6: ")
                && long.ends_with("\n- Step 20: Read the part 20 of the plan"),
            "{long}"
        );
        assert!(
            summarize_instructions("/x", &text.repeat(50)).len() < 1600
                && name_of_instructions("While it runs:").is_none()
        );
    }

    // K-11
    #[test]
    fn k_11_steps_that_were_taken_give_way_to_the_commands_of_the_next() {
        let text = "# /ship\n\n## Step 1: Save\n\n```bash\nship exec save --id=\"$ID\"\n```\n\n## Step 2: Look\n\n```bash\n\
            git status\n```\n\n## Step 3: Upload\n\n```bash\nship exec upload \\\n  --file \"$FILE\"\n```\n\n## Step 4: Close\n";
        let all = summarize_instructions("/ship", text);
        let [save, upload] = ["`ship exec save --id=\"$ID\"`", "`ship exec upload --file \"$FILE\"`"];
        assert_eq!(
            all,
            format!(
                "While /ship runs:\nIts steps:\n- Step 1: Save: {save}\n- Step 2: Look\n- Step 3: Upload: {upload}\n- Step 4: Close"
            )
        );
        assert_eq!(leave_out_taken_steps(&all, &["git status", "ship exec saved"]), all);
        let rest = leave_out_taken_steps(&all, &["ship exec save --id=12"]);
        assert_eq!(
            rest,
            format!(
                "While /ship runs:\nIts steps:\n- [...]\n- Step 2: Look\n- Step 3: Upload: {upload}\n- Step 4: Close"
            )
        );
        assert_eq!(leave_out_taken_steps(&rest, &["git push"]), rest);
    }
}
