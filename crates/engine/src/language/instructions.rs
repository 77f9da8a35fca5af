//! The instructions of a slash command or a skill in short: its rules word for word, and its steps in order.

use super::piece::{Piece, PieceKind};
use super::segment::split_into_pieces;

/// The most bytes of rules, of steps, and of one of each.
const RULES: usize = 800;
const STEPS: usize = 600;
const RULE: usize = 400;
const STEP: usize = 72;
/// Marks what is left out.
const CUT: &str = "[...]";
/// Words in capitals that mark a rule.
const MARKS: [&str; 6] = ["NEVER", "ONLY", "MUST", "MANDATORY", "CRITICAL", "FORBIDDEN"];
/// Openings of a rule, and words that make one in languages without capitals.
const OPENINGS: [&str; 7] = ["never ", "never:", "do not ", "don't ", "niemals ", "ne jamais ", "nunca "];
const WIDE_MARKS: [&str; 10] =
    ["必ず", "禁止", "絶対に", "しないこと", "てはいけない", "てはならない", "必须", "不要", "不得", "严禁"];
/// Words before the number of a step.
const STEP_WORDS: [&str; 9] = ["step ", "phase ", "stage ", "schritt ", "étape ", "paso ", "ステップ", "手順", "步骤"];
/// The first line, around the name, while a command and a skill are followed.
const COMMAND: [&str; 2] = ["While ", " runs:"];
const SKILL: [&str; 2] = ["While the skill ", " is used:"];

/// The rules and the steps in `text`, the instructions of the slash command or the skill `name`; code decides nothing. `[...]` marks
/// rules and steps that are left out: of the steps, first those within another, then the earliest, since the last are still to come.
#[must_use]
pub fn summarize_instructions(name: &str, text: &str) -> String {
    let pieces = split_into_pieces(text);
    let mut rules: Vec<String> = Vec::new();
    let mut steps: Vec<(usize, &str)> = Vec::new();
    let mut is_cut = false;
    for (at, piece) in pieces.iter().enumerate() {
        match piece.kind {
            PieceKind::Heading if piece.text.starts_with('#') => {
                let level = piece.text.bytes().take_while(|byte| *byte == b'#').count();
                let step = step_of_heading(piece.text).map(|step| (level, step));
                steps.extend(step.filter(|step| !steps.contains(step)));
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
    if !steps.is_empty() {
        rules.push(format!("Its steps: {}", shorten_steps(steps)));
    }
    let [before, behind] = if name.starts_with('/') { COMMAND } else { SKILL };
    std::iter::once(format!("{before}{name}{behind}")).chain(rules).collect::<Vec<_>>().join("\n")
}

/// The titles of `steps`, each with the level of its heading, in one line of about [`STEPS`] bytes.
fn shorten_steps(mut steps: Vec<(usize, &str)>) -> String {
    let n_bytes = |steps: &[(usize, &str)]| steps.iter().map(|(_, step)| step.len() + 2).sum::<usize>();
    let n_all = steps.len();
    let top = steps.iter().map(|(level, _)| *level).min().unwrap_or_default();
    if n_bytes(&steps) > STEPS {
        steps.retain(|(level, _)| *level == top);
    }
    while steps.len() > 1 && n_bytes(&steps) > STEPS {
        steps.remove(0);
    }
    let mark = (steps.len() < n_all).then_some(CUT);
    mark.into_iter().chain(steps.iter().map(|(_, step)| *step)).collect::<Vec<_>>().join("; ")
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
    let end = title.char_indices().map(|(at, c)| at + c.len_utf8()).take_while(|end| *end <= STEP).last()?;
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
             Its steps: Step 1: Read the plan; Step 2: Resolve all (MANDATORY)"
        );
        assert_eq!(name_of_instructions(&short), Some("/ship --now"));
        let skill = summarize_instructions("cook", "Only text.");
        assert_eq!((skill.as_str(), name_of_instructions(&skill)), ("While the skill cook is used:", Some("cook")));
        let step = |n: usize| format!("## Step {n}: Read the part {n} of the plan\n\n### {n}.1 Look\n\n");
        let long = (1..=20).map(step).collect::<Vec<_>>().concat();
        let long = summarize_instructions("/x", &long);
        assert!(
            long.contains("Its steps: [...]; Step 6: ") && long.ends_with("; Step 20: Read the part 20 of the plan"),
            "{long}"
        );
        assert!(
            summarize_instructions("/x", &text.repeat(50)).len() < 1600
                && name_of_instructions("While it runs:").is_none()
        );
    }
}
