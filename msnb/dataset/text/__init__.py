"""Words as numbers: vocabularies, vectors, tokenizers and transforms of columns of text (`mindspore.dataset.text`)."""

from msnb.dataset.text.string_transforms import (
    AddToken,
    CaseFold,
    FilterWikipediaXML,
    Ngram,
    NormalizeForm,
    NormalizeUTF8,
    RegexReplace,
    SlidingWindow,
    ToNumber,
    Truncate,
    TruncateSequencePair,
    to_bytes,
    to_str,
)
from msnb.dataset.text.tokenizers import (
    JiebaMode,
    JiebaTokenizer,
    PythonTokenizer,
    RegexTokenizer,
    SentencePieceModel,
    SentencePieceTokenizer,
    SentencePieceVocab,
    SPieceTokenizerLoadType,
    SPieceTokenizerOutType,
    UnicodeCharTokenizer,
    UnicodeScriptTokenizer,
    WhitespaceTokenizer,
)
from msnb.dataset.text.vocab import Lookup, Vocab
from msnb.dataset.text.word_pieces import BasicTokenizer, BertTokenizer, WordpieceTokenizer
from msnb.dataset.text.word_vectors import CharNGram, FastText, GloVe, ToVectors, Vectors

__all__ = [
    "AddToken", "BasicTokenizer", "BertTokenizer", "CaseFold", "CharNGram", "FastText", "FilterWikipediaXML", "GloVe",
    "JiebaMode", "JiebaTokenizer", "Lookup", "Ngram", "NormalizeForm", "NormalizeUTF8", "PythonTokenizer",
    "RegexReplace", "RegexTokenizer", "SPieceTokenizerLoadType", "SPieceTokenizerOutType", "SentencePieceModel",
    "SentencePieceTokenizer", "SentencePieceVocab", "SlidingWindow", "ToNumber", "ToVectors", "Truncate",
    "TruncateSequencePair", "UnicodeCharTokenizer", "UnicodeScriptTokenizer", "Vectors", "Vocab",
    "WhitespaceTokenizer", "WordpieceTokenizer", "to_bytes", "to_str",
]  # fmt: skip
