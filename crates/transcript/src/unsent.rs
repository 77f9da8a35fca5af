//! Active parts that are not sent: thinking of other models than the one that resumes, and repeated ids (L-07).

use std::io::{self, Read, Seek};

use super::model::MessageModel;
use super::{Chain, Index, Record};

impl Index {
    /// Takes out of the tokens what is active and yet not sent: thinking of other models, and what repeats an id.
    ///
    /// # Errors
    /// When reading fails.
    pub(super) fn leave_out_unsent(&mut self, reader: impl Read + Seek) -> io::Result<()> {
        let has_others = self.models.has_several() && !self.thinking.is_empty();
        let repeated = self.repeated_ids();
        if !has_others && repeated.is_empty() {
            return Ok(());
        }
        let chain = Chain::find(self);
        if has_others {
            self.leave_out_thinking(&chain);
        }
        if repeated.is_empty() { Ok(()) } else { self.leave_out_repeats(reader, &chain, &repeated) }
    }

    /// The model that resumes the session: that of the last active message which names one. `None` where none does.
    #[must_use]
    pub fn resuming_model(&self, chain: &Chain) -> Option<String> {
        let MessageModel::Named(at) = self.last_named_model(chain)? else { return None };
        self.models.name_at(at)
    }

    fn last_named_model(&self, chain: &Chain) -> Option<MessageModel> {
        let mut models = chain.lines.iter().rev().map(|&line| self.models.model_of(self.record(line).message_idx()));
        models.find(|model| matches!(model, MessageModel::Named(_)))
    }

    /// Counts the thinking of other models than that which resumes `chain` as unsent.
    fn leave_out_thinking(&mut self, chain: &Chain) {
        let Some(resuming) = self.last_named_model(chain) else { return };
        for thinking in &mut self.thinking {
            let model = self.models.model_of(self.records.get(thinking.line.idx()).and_then(Record::message_idx));
            if model != resuming && model != MessageModel::Synthetic {
                *thinking = thinking.as_unsent();
            }
        }
    }
}
