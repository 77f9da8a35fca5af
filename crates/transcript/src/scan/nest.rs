//! The containers that are open around a place.
#![expect(clippy::inline_always, reason = "these run for each token")]

/// A container of JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Container {
    Object,
    Array,
}

/// The open containers, one bit each: ones are objects. Those beyond the innermost 64 are put away by the word,
/// so that no memory is asked for until then.
#[derive(Default)]
pub(super) struct OpenContainers {
    bits: u64,
    depth: usize,
    outer: Vec<u64>,
}

impl OpenContainers {
    #[inline(always)]
    pub(super) fn open_container(&mut self, container: Container) {
        if self.depth == 64 {
            self.push_outer();
        }
        self.depth += 1;
        self.bits = self.bits << 1 | u64::from(container == Container::Object);
    }

    /// The innermost open container; an array when there is none.
    #[inline(always)]
    pub(super) const fn innermost_container(&self) -> Container {
        if self.bits & 1 == 1 { Container::Object } else { Container::Array }
    }

    /// Closes the innermost container, and gives the one around it.
    #[inline(always)]
    pub(super) fn close_innermost(&mut self) -> Option<Container> {
        self.bits >>= 1;
        self.depth -= 1;
        if self.depth == 0 {
            self.pop_outer()?;
        }
        Some(self.innermost_container())
    }

    #[cold]
    #[inline(never)]
    fn push_outer(&mut self) {
        self.outer.push(self.bits);
        self.depth = 0;
    }

    #[cold]
    #[inline(never)]
    fn pop_outer(&mut self) -> Option<()> {
        self.bits = self.outer.pop()?;
        self.depth = 64;
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_opened_is_closed_in_turn() {
        let mut nest = OpenContainers::default();
        let kind = |depth: usize| if depth.is_multiple_of(3) { Container::Object } else { Container::Array };
        (0..1000).for_each(|depth| nest.open_container(kind(depth)));
        assert_eq!(nest.innermost_container(), kind(999));
        for depth in (0..999).rev() {
            assert_eq!(nest.close_innermost(), Some(kind(depth)));
        }
        assert_eq!(nest.close_innermost(), None);
    }
}
