//! What is still to be done, as the model has noted it for itself.

use serde::{Deserialize, Serialize};

use super::latest::Latest;

/// How far something to be done is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Progress {
    /// Nobody has begun.
    Pending,
    /// Somebody is at it.
    InProgress,
    /// It is done.
    Completed,
    /// It is not to be done any more.
    Deleted,
}

impl Progress {
    /// The progress that clients call `name`; what is not known is not done.
    #[must_use]
    pub fn named(name: &str) -> Self {
        match name {
            "in_progress" => Self::InProgress,
            "completed" | "done" => Self::Completed,
            "deleted" | "cancelled" | "canceled" => Self::Deleted,
            _ => Self::Pending,
        }
    }

    /// Whether there is something left to do.
    #[must_use]
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Pending | Self::InProgress)
    }
}

/// Something to be done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Todo {
    /// What.
    pub text: String,
    /// How far it is.
    pub progress: Progress,
}

/// An update of a numbered task.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskNews {
    /// What it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// How far it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<Progress>,
}

/// What is to be done, of both kinds that clients have had: one list, written whole, and tasks by number.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Todos {
    /// The list as it was last written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    list: Option<Vec<Todo>>,
    /// The tasks.
    #[serde(default, skip_serializing_if = "Latest::is_empty")]
    tasks: Latest<String, TaskNews>,
}

impl Todos {
    /// Whether nothing was ever noted.
    pub(super) fn is_empty(&self) -> bool {
        self.list.is_none() && self.tasks.is_empty()
    }

    /// Takes the list as it was written.
    pub(super) fn write(&mut self, list: Vec<Todo>) {
        self.list = Some(list);
    }

    /// Takes what is told of the task of this number.
    pub(super) fn tell(&mut self, number: String, news: TaskNews) {
        self.tasks.insert(number, news, joined);
    }

    /// Adds what was noted later.
    pub(super) fn merge(&mut self, later: Self) {
        self.list = later.list.or_else(|| self.list.take());
        self.tasks.merge(later.tasks, joined);
    }

    /// What is open, what somebody is at first; of each its progress and its text.
    pub(super) fn open(&self) -> Vec<(Progress, String)> {
        let listed = self.list.iter().flatten().map(|todo| (todo.progress, todo.text.clone()));
        let mut tasks: Vec<_> = self.tasks.iter().collect();
        tasks.sort_by_key(|(number, _)| number.parse::<u64>().unwrap_or(u64::MAX));
        let tasks = tasks.into_iter().map(|(number, news)| {
            let text = news.text.clone().map_or_else(|| format!("#{number}"), |text| format!("#{number} {text}"));
            (news.progress.unwrap_or(Progress::Pending), text)
        });
        let mut open: Vec<_> = listed.chain(tasks).filter(|(progress, _)| progress.is_open()).collect();
        open.sort_by_key(|(progress, _)| *progress != Progress::InProgress);
        open
    }
}

fn joined(earlier: TaskNews, later: TaskNews) -> TaskNews {
    TaskNews { text: later.text.or(earlier.text), progress: later.progress.or(earlier.progress) }
}
