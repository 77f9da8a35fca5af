//! `ctxc export`: write sessions in the format of another program (Y-03).

mod read;
mod run;

pub(crate) use run::{Args, EXAMPLES, run};
