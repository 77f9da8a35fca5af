//! An engine that answers from a list, for tests.

use std::cell::RefCell;
use std::collections::VecDeque;

use super::{Ask, Engine, EngineError, Fault, Reply, Replying};

/// Answers each job with the next of its lines: a text, or the reason why there is none.
#[derive(Debug)]
pub(crate) struct Scripted {
    lines: RefCell<VecDeque<Result<String, String>>>,
}

impl Scripted {
    /// An engine with these answers, in their order.
    pub(crate) fn new<'a>(lines: impl IntoIterator<Item = Result<&'a str, &'a str>>) -> Self {
        let lines = lines.into_iter().map(|line| line.map(str::to_owned).map_err(str::to_owned));
        Self { lines: RefCell::new(lines.collect()) }
    }

    /// How many answers nobody has asked for.
    pub(crate) fn n_left(&self) -> usize {
        self.lines.borrow().len()
    }
}

impl Engine for Scripted {
    fn name(&self) -> &'static str {
        "scripted"
    }

    fn shrink<'a>(&'a self, _: Ask<'a>) -> Replying<'a> {
        let line = self.lines.borrow_mut().pop_front();
        let line = line.unwrap_or_else(|| Err("the script has ended".to_owned()));
        let reply = line.map(|text| Reply { text, usage: None });
        Box::pin(std::future::ready(reply.map_err(|message| EngineError::new(Fault::Permanent, message))))
    }
}
