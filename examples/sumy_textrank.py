"""TextRank from PyPI's `sumy` on the texts that `facts_kept` compares.

    pip install sumy numpy
    python examples/sumy_textrank.py TEXTS.json > textrank.json

TEXTS.json is a JSON array of strings. The sentence tokenizer that sumy brings needs a model that has to be
downloaded; lines and end marks serve here, and every character of a CJK script is a word.
"""

import json
import re
import sys

from sumy.nlp.stemmers import Stemmer
from sumy.parsers.plaintext import PlaintextParser
from sumy.summarizers.text_rank import TextRankSummarizer
from sumy.utils import get_stop_words

END = re.compile(r"(?<=[.!?])\s+(?=[^a-z\s])|(?<=[。！？])|\n+")
WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|\w+")


class Tokenizer:
    def to_sentences(self, paragraph):
        return tuple(s for s in (part.strip() for part in END.split(paragraph)) if s)

    def to_words(self, sentence):
        return tuple(WORD.findall(sentence))


def tokens(text):
    return -(-len(text.encode("utf-16-le", "surrogatepass")) // 8)


def shorten(text, percent, summarizer):
    target = max(15, tokens(text) * percent // 100)
    # A line with a `#` or in capitals is a heading to this parser and is lost to the summary.
    document = PlaintextParser.from_string(re.sub(r"(?m)^#+ ", "", text), Tokenizer()).document
    ratings = summarizer.rate_sentences(document)
    place = {sentence: n for n, sentence in reversed(list(enumerate(document.sentences)))}
    ranked = sorted(ratings, key=lambda sentence: (-ratings[sentence], place[sentence]))
    kept, size = [], 0
    for sentence in ranked:
        if size + len(str(sentence)) + 1 <= target * 4:
            kept.append(sentence)
            size += len(str(sentence)) + 1
    if not kept:
        return (str(ranked[0]) if ranked else text)[: target * 4]
    return "\n".join(str(sentence) for sentence in sorted(kept, key=place.get))


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        texts = json.load(file)
    summarizer = TextRankSummarizer(Stemmer("english"))
    summarizer.stop_words = get_stop_words("english")
    results = {str(percent): [shorten(text, percent, summarizer) for text in texts] for percent in (35, 10)}
    json.dump(results, sys.stdout, ensure_ascii=False)


main()
