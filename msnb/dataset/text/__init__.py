"""Words as numbers: vocabularies, vectors, tokenizers and transforms of columns of text (`mindspore.dataset.text`)."""

from msnb.base import missing_names
from msnb.dataset.text.string_transforms import *
from msnb.dataset.text.tokenizers import *
from msnb.dataset.text.vocab import *
from msnb.dataset.text.word_pieces import *
from msnb.dataset.text.word_vectors import *

missing_names.show_imports(__name__)
