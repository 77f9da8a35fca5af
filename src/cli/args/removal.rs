//! What verbs share that remove something for good.

use clap::builder::NonEmptyStringValueParser;

use crate::session::options::Mode;

#[derive(Debug, clap::Args)]
pub(crate) struct RemovalArgs {
    /// Show what would be removed
    #[arg(long)]
    dry_run: bool,
    /// Do not ask
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// Archive URL, such as sqlite:PATH [env: CTXC_ARCHIVE=] [default: a file in your data folder]
    #[arg(long, value_name = "URL", value_parser = NonEmptyStringValueParser::new(), help_heading = "Archive")]
    pub(crate) archive: Option<String>,
}

impl RemovalArgs {
    pub(crate) fn mode(&self) -> Mode {
        if self.dry_run { Mode::Show } else { Mode::Do }
    }
}
