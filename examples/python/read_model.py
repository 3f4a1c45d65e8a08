"""Answers with a text classifier that Orchard trained, as Orchard does: encoder and lexical expert, blended.

    python read_model.py FOLDER "a text" …        prints one JSON object for each text
    pip install numpy onnxruntime safetensors tokenizers

docs/model-folder.md and docs/lexical.md of Orchard say what is computed. Texts longer than the model reads are cut.
"""

import json
import math
import sys
import unicodedata
from pathlib import Path

import numpy as np
import onnxruntime
from safetensors import safe_open
from tokenizers import Tokenizer

WORD_SEED, PAIR_SEED, TRIPLE_SEED, CHARACTER_SEED = 0x2F0B4C47, 0x6B43A9B5, 0x3C6EF372, 0x1B56C4E9
SPACES = set("\t\n\v\f\r \u00a0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff") | {chr(c) for c in range(0x2000, 0x200B)}


def combine(state, value):
    mixed = ((state ^ value) * 0x9E3779B1) & 0xFFFFFFFF
    return mixed ^ (mixed >> 15)


def is_word(character):
    return character == "_" or unicodedata.category(character)[0] in "LNM"


def is_symbol(character):
    return character in "!?%" or unicodedata.category(character)[0] == "S"


def words_of(text):
    """Hashes of the words: runs of letters, digits, marks and underscores; a symbol is a word by itself."""
    hashes, at = [], 0
    while at < len(text):
        end, state = at, WORD_SEED
        while end < len(text) and is_word(text[end]):
            state = combine(state, ord(text[end]))
            end += 1
        if end == at:
            end = at + 1
            if text[at] not in SPACES and is_symbol(text[at]):
                state = combine(state, ord(text[at]))
        if state != WORD_SEED:
            hashes.append(state)
        at = end
    return hashes


def word_n_grams(text, triples):
    found, words = [], words_of(text)
    for at, word in enumerate(words):
        found.append(word)
        if at > 0:
            found.append(combine(combine(PAIR_SEED, words[at - 1]), word))
        if triples and at > 1:
            found.append(combine(combine(combine(TRIPLE_SEED, words[at - 2]), words[at - 1]), word))
    return found


def character_n_grams(text, shortest, longest):
    """Between spaces, with one space at each end."""
    found = []
    for run in "".join(" " if character in SPACES else character for character in text).split(" "):
        padded = f" {run} " if run else ""
        for first in range(len(padded)):
            state = CHARACTER_SEED
            for length, character in enumerate(padded[first : first + longest], start=1):
                state = combine(state, ord(character))
                if length >= shortest:
                    found.append(state)
    return found


class LexicalExpert:
    def __init__(self, path):
        with safe_open(path, "np") as file:
            self.options = json.loads(file.metadata()["n_grams"])
            read = {name: file.get_tensor(name) for name in file.keys()}
        self.ids = {int(value) & 0xFFFFFFFF: at for at, value in enumerate(read["hashes"])}
        self.terms = read["term_weights"].astype(np.float64)
        self.weights = read["weights"] * read["scales"].astype(np.float64)[:, None]
        self.bias = read["bias"].astype(np.float64)

    def read(self, text):
        """The margins of all outputs, and the share of the text's n-grams that are known."""
        text = text.lower() if self.options["lowercase"] else text
        characters = self.options["characters"]
        kinds = [
            word_n_grams(text, self.options.get("triples", False)) if self.options["words"] else [],
            character_n_grams(text, characters["shortest"], characters["longest"]) if characters else [],
        ]
        margins, known = self.bias.copy(), 0
        for n_grams in kinds:
            counts = {}
            for state in n_grams:
                if state in self.ids:
                    counts[self.ids[state]] = counts.get(self.ids[state], 0) + 1
            ids = list(counts)
            known += sum(counts.values())
            values = np.array([(1 + math.log(counts[each])) * self.terms[each] for each in ids])
            length = np.linalg.norm(values) or 1.0
            margins += (values / length) @ self.weights[ids] if ids else 0.0
        return margins, known / max(1, sum(map(len, kinds)))


class Classifier:
    def __init__(self, folder):
        folder = Path(folder)
        config = json.loads((folder / "config.json").read_text("utf-8"))
        self.orchard = config["orchard"]
        if self.orchard["family"] != "Papaya":
            raise ValueError(f"{folder}: a model of the family {self.orchard['family']}, not a text classifier")
        self.softmax = config["problem_type"] == "single_label_classification"
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.enable_truncation(self.orchard["max_tokens"])
        self.session = onnxruntime.InferenceSession(str(folder / self.orchard.get("graph", "onnx/model.onnx")))
        expert = folder / "lexical.safetensors"
        self.expert = LexicalExpert(expert) if "blend" in self.orchard and expert.exists() else None

    def encoder(self, text):
        encoding = self.tokenizer.encode(text)
        every = {
            "input_ids": encoding.ids,
            "attention_mask": encoding.attention_mask,
            "token_type_ids": [0] * len(encoding.ids),
        }
        feeds = {each.name: np.array([every[each.name]], np.int64) for each in self.session.get_inputs()}
        return self.session.run(None, feeds)[0][0].astype(np.float64)

    def predict(self, text):
        logits, trust = self.encoder(text), 1.0
        if self.expert:
            margins, coverage = self.expert.read(text)
            blend, evidence = self.orchard["blend"], self.orchard.get("evidence")
            logits = blend["encoder"] * logits + blend["expert"] * margins + np.array(blend["bias"])
            if evidence:
                usual = evidence["coverage"]
                trust = evidence["rows"] / (evidence["rows"] + 2) * (coverage / usual if coverage < usual else 1)
        scores = self.probabilities(logits, trust)
        order = sorted(range(len(scores)), key=lambda at: -scores[at])
        return {"labels": [self.orchard["labels"][at] for at in order], "scores": [float(scores[at]) for at in order]}

    def probabilities(self, logits, trust):
        if self.softmax:
            shares = np.exp(logits - logits.max())
            return 1 / len(shares) + trust * (shares / shares.sum() - 1 / len(shares))
        yes = 1 / (1 + np.exp(-logits))
        if len(yes) == 1 and len(self.orchard["labels"]) == 2:
            second = 0.5 + trust * (yes[0] - 0.5)
            return np.array([1 - second, second])
        return np.where(yes > 0.5, 0.5 + trust * (yes - 0.5), yes)


if __name__ == "__main__":
    model = Classifier(sys.argv[1])
    for text in sys.argv[2:]:
        print(json.dumps(model.predict(text), ensure_ascii=False))
