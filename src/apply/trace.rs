//! Where the lines of a source are in what was made of it, read off the recipes that lead back (P-05).

use crate::archive::RecipeStep;

/// Where a line of a source went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Went {
    /// It stands in the newest transcript, at this place.
    To {
        /// The line, from 0.
        line: u32,
        /// Whether an operation has changed it on the way.
        is_changed: bool,
    },
    /// An operation took it out.
    Out,
}

/// What one operation did to the lines of its source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Step {
    /// For each line of the source the place of its line in the output, and whether the operation changed it; `None`
    /// where the operation took it out. What a client appended to the output comes behind.
    pub(super) lines: Vec<Option<(usize, bool)>>,
    /// The lines of the output that the source does not have.
    pub(super) additions: Vec<usize>,
}

/// What the operation of `recipe` did, whose output has `n_output` lines by now.
pub(super) fn step(recipe: &[RecipeStep], n_output: usize) -> Step {
    let mut step = Step::default();
    let mut at = 0;
    let mut is_behind_skip = false;
    for part in recipe {
        match part {
            RecipeStep::Copy { lines, .. } => {
                let end = at + usize::try_from(*lines).unwrap_or(usize::MAX);
                step.lines.extend((at..end).map(|at| Some((at, false))));
                at = end;
            }
            RecipeStep::Skip { lines } => {
                let end = at + usize::try_from(*lines).unwrap_or(usize::MAX);
                step.additions.extend(at..end);
                at = end;
            }
            // The line before stands in its place.
            RecipeStep::Original(_) if is_behind_skip => {
                step.lines.push(step.additions.pop().map(|at| (at, true)));
            }
            RecipeStep::Original(_) => step.lines.push(None),
        }
        is_behind_skip = matches!(part, RecipeStep::Skip { .. });
    }
    step.lines.extend((at..n_output).map(|at| Some((at, false))));
    step
}

/// Where the lines of the source of `step` went, when `trace` tells where those of its output did.
pub(super) fn back(step: &Step, trace: &[Went]) -> Vec<Went> {
    let went = |place: &Option<(usize, bool)>| {
        let (at, is_changed_here) = (*place)?;
        match trace.get(at)? {
            Went::To { line, is_changed } => Some(Went::To { line: *line, is_changed: *is_changed || is_changed_here }),
            Went::Out => None,
        }
    };
    step.lines.iter().map(|place| went(place).unwrap_or(Went::Out)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Digest;

    // P-05
    #[test]
    fn p_05_a_recipe_tells_where_each_line_went() {
        let original = || RecipeStep::Original(Digest::of(b""));
        let recipe = [
            RecipeStep::Copy { lines: 2, session: None },
            original(),
            RecipeStep::Skip { lines: 1 },
            original(),
            original(),
            RecipeStep::Skip { lines: 2 },
            original(),
            RecipeStep::Copy { lines: 1, session: Some(0) },
            RecipeStep::Skip { lines: 1 },
        ];
        // The output: two copies, a change, an addition, a change, a copy, an addition, and two lines of a client.
        let step = step(&recipe, 9);
        let expected = [
            Some((0, false)),
            Some((1, false)),
            None,
            Some((2, true)),
            None,
            Some((4, true)),
            Some((5, false)),
            Some((7, false)),
            Some((8, false)),
        ];
        assert_eq!((step.lines.as_slice(), step.additions.as_slice()), (&expected[..], &[3, 6][..]));
        let to = |line, is_changed| Went::To { line, is_changed };
        let trace: Vec<Went> = (0..9).map(|at| if at == 5 { Went::Out } else { to(10 + at, at == 0) }).collect();
        let expected = [to(10, true), to(11, false), Went::Out, to(12, true), Went::Out, to(14, true), Went::Out];
        assert_eq!(back(&step, &trace)[..7], expected);
    }
}
