//! Function words, such as articles and pronouns, which a search would find everywhere.

/// English function words, which are removed from all queries. `not` and `must` stay, since rules consist of them.
const ENGLISH: &str = "a about an and any are as at be been being but by can could did do does for from had has have he her \
    here him his how i if in into is it its just many me much my of on or our she should so some than that the their them then there \
    these they this those to us was we were what when where which who whom whose why will with would you your";

/// Function words of other languages, some of which are also words of English and of programs (`die`, `on`, `del`). They are
/// removed if a query has at least [`ENOUGH`] of one language.
const OTHERS: &[&str] = &[
    // German
    "aber als am an auf aus bei bin bist da das dass dem den der des die dir du ein eine einem einen einer er es für hat \
     haben hatte hatten ich ihr im in ist ja kann man mir mit nach oder sein sich sie sind so über um und uns unser von war \
     waren warum was welche welchem welchen welcher welches wenn wer werden wie wir wird wo wurde zu zum zur",
    // French
    "à au aux avec avons avez ce ces cette comment dans de des du elle en est et été il ils j je l la le les leur lui ma \
     mais me mes mon notre nous on ont ou où par pour pourquoi qu quand que quel quelle quelles quels qui s sa se ses son \
     sont sur un une vos votre vous",
    // Spanish
    "al como cómo con cuál cuándo de del dónde el ella en era es esa ese esta está este fue ha han hay he hemos la las le \
     lo los me mi nos o para pero por porque qué que quién se si sin sobre son su sus un una y ya yo",
    // Portuguese
    "a ao as com como da das de do dos e é ela ele em era essa esse esta este eu foi na nas no nos o onde os ou para pelo \
     por porque qual quais quando que quem se são sua seu um uma você",
    // Italian
    "a al alla anche che chi ci come con cosa cui da dal del della delle di dove e è gli ha hanno ho i il in io la le lo ma \
     mi nel nella noi o per perché quale quali quando questa questo si sono su tra un una",
    // Dutch
    "aan als bij dan dat de den deze die dit een en er had heb hebben heeft het hij hoe ik in is je kan maar met mij naar \
     of om ons onze op over te tot uit van voor waar waarom was wat we welk welke wie wij worden ze zich zijn",
];

/// The number of function words that identifies the language of a query.
const ENOUGH: usize = 2;

/// The function words that apply to a query.
pub(super) struct FunctionWords {
    /// The function words of the query's language, if it is not English.
    language: Option<&'static str>,
}

impl FunctionWords {
    /// The function words for a query with the single words `words`, in lower case.
    pub(super) fn of(words: &[&str]) -> Self {
        let count = |list: &str| words.iter().filter(|word| lists_word(list, word)).count();
        let language = OTHERS.iter().map(|list| (count(list), *list)).max_by_key(|(n, _)| *n);
        Self { language: language.filter(|(n, _)| *n >= ENOUGH).map(|(_, list)| list) }
    }

    /// Whether `word` is a function word.
    pub(super) fn has(&self, word: &str) -> bool {
        lists_word(ENGLISH, word) || self.language.is_some_and(|list| lists_word(list, word))
    }
}

fn lists_word(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|known| known == word)
}
