"""Writes small random checkpoints with heads, or asks checkpoints, with transformers.

Usage: python3 checkpoints.py write FOLDER
       python3 checkpoints.py ask FOLDER...
       python3 checkpoints.py record FOLDER

`write`: each checkpoint is a folder in FOLDER as `save_pretrained` leaves it: every architecture with a head for texts and
with one for tokens. Their names are printed. `ask` prints a line of JSON for each folder: what transformers' pipelines answer
to TEXTS, offsets in code points, and the logits that they come from. `record` writes tiny checkpoints, most of them in
float16, each with its answers as expected.json: the recordings of `npm test`. Nothing is fetched from anywhere.
"""

import argparse
import json
import os
import sys
import warnings

from random_encoders import SIZES, encoders, random_model

TEXTS = [
    "Ada Lovelace wrote to Charles Babbage in London.",
    "unbelievable!!! the plot-twist (again) wasn't funny",
    "Zoë's naïve café in München costs 3.50 € \U0001f680 today",
    "  two spaces\tand a tab, then\na line  ",
    "x",
    "東京 and 東京都 are near Yokohama",
    "NATO, the EU; and U.S. firms like AT&T or e-mail@example.org",
]

WORDS = (
    "ada lovelace wrote to charles babbage in london unbelievable the plot twist again was n't funny zoe naive cafe munchen "
    "costs today two spaces and a tab then line tokyo are near yokohama nato eu us firms like at t or e mail example org"
).split()

TAGS = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]
KINDS = ["negative", "neutral", "positive"]


def named(labels):
    return {"id2label": dict(enumerate(labels)), "label2id": {label: at for at, label in enumerate(labels)}}


def variants(size):
    """Model type, fields, class and how it is saved, of each checkpoint by its name."""
    found = {}
    for name, (model_type, fields) in encoders(size).items():
        if name in ("deberta-v3-own-keys", "modernbert-biases"):
            continue
        text = {**named(KINDS), "classifier_pooling": "mean"} if name == "modernbert" else named(KINDS)
        found[f"{name}-text"] = (model_type, {**fields, **text}, "AutoModelForSequenceClassification", {})
        found[f"{name}-tokens"] = (model_type, {**fields, **named(TAGS)}, "AutoModelForTokenClassification", {})
    of = encoders(size)
    text, token = "AutoModelForSequenceClassification", "AutoModelForTokenClassification"

    def also(name, base, auto, fields, saved=None):
        model_type, given = of[base]
        found[name] = (model_type, {**given, **fields}, auto, saved or {})

    also("bert-multilabel", "bert", text, {**named(KINDS), "problem_type": "multi_label_classification"})
    also("roberta-one-label", "roberta", text, named(["toxic"]))
    also("electra-unnamed", "electra", text, {})
    also("modernbert-first", "modernbert", text, {**named(KINDS), "classifier_pooling": "cls", "classifier_bias": True})
    also("bert-float16", "bert", text, named(KINDS), {"dtype": "float16"})
    also("distilbert-bfloat16", "distilbert", token, named(TAGS), {"dtype": "bfloat16"})
    also("mpnet-shards", "mpnet", text, named(KINDS), {"max_shard_size": "8KB"})
    also("bert-plain-labels", "bert", token, named(["O", "PER", "LOC"]))
    return found


def tokenizer_for(model_type, vocabulary):
    import tokenizers
    from tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    if model_type in ("roberta", "modernbert"):
        special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
        made = tokenizers.Tokenizer(models.BPE())
        made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        made.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(vocab_size=vocabulary, special_tokens=special,
                                      initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
    elif model_type in ("xlm-roberta", "camembert", "albert", "deberta-v2"):
        special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
        made = tokenizers.Tokenizer(models.Unigram())
        made.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(tokenizers.Regex(" {2,}"), " ")])
        made.pre_tokenizer = pre_tokenizers.Metaspace()
        made.decoder = decoders.Metaspace()
        trainer = trainers.UnigramTrainer(vocab_size=vocabulary, special_tokens=special, unk_token="<unk>",
                                          show_progress=False)
    else:
        special = ["[PAD]", "[MASK]", "[CLS]", "[SEP]", "[UNK]"]
        if model_type == "mpnet":
            special = ["[CLS]", "[PAD]", "[SEP]", "[UNK]", "[MASK]"]
        made = tokenizers.Tokenizer(models.WordPiece(unk_token="[UNK]"))
        made.normalizer = normalizers.BertNormalizer(lowercase=model_type != "distilbert")
        made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        made.decoder = decoders.WordPiece()
        trainer = trainers.WordPieceTrainer(vocab_size=vocabulary, special_tokens=special, show_progress=False)
    made.train_from_iterator([" ".join(WORDS), *TEXTS] * 4, trainer)
    first, last = ("<s>", "</s>") if "<s>" in special else ("[CLS]", "[SEP]")
    pair = [(token, made.token_to_id(token)) for token in (last, first)]
    if model_type == "roberta":
        made.post_processor = processors.RobertaProcessing(*pair, trim_offsets=True, add_prefix_space=False)
    else:
        made.post_processor = processors.TemplateProcessing(
            single=f"{first} $A {last}", pair=f"{first} $A {last} $B:1 {last}:1", special_tokens=pair)
    by = lambda name: next(token for token in special if name in token.lower())
    inputs = ["input_ids", "attention_mask"]
    return PreTrainedTokenizerFast(
        tokenizer_object=made, cls_token=first, sep_token=last, pad_token=by("pad"), unk_token=by("unk"), mask_token=by("mask"),
        model_max_length=64, model_input_names=inputs)


def compact(path):
    with open(path) as file:
        content = json.load(file)
    with open(path, "w") as file:
        json.dump(content, file, separators=(",", ":"), ensure_ascii=False)


# Variants of an architecture that compute nothing else than another with this head.
NOT_RECORDED = ("electra-small", "deberta-v2", "modernbert-first", "bert-float16")


def tells_apart(model, tokenizer):
    """Whether a random head doesn't give all texts, or nearly all tokens, one label."""
    import torch

    if model.config.num_labels == 1:
        return True
    with torch.no_grad():
        logits = [model(**tokenizer(text, return_tensors="pt")).logits[0] for text in TEXTS]
    best = torch.cat([each.reshape(-1, model.config.num_labels) for each in logits]).argmax(-1)
    counts = torch.bincount(best, minlength=model.config.num_labels)
    return counts.max() <= 0.8 * counts.sum()


def write(folder, size, records=False):
    import torch

    for at, (name, (model_type, fields, auto, saved)) in enumerate(variants(size).items()):
        if records and name.startswith(NOT_RECORDED):
            continue
        if records and not saved and not name.startswith("bert-"):
            saved = {"dtype": "float16"}
        tokenizer = tokenizer_for(model_type, size["vocabulary"])
        fields = {**fields, "pad_token_id": tokenizer.pad_token_id, "vocab_size": len(tokenizer)}
        if model_type == "albert":
            fields["classifier_dropout_prob"] = 0.1
        seeds = range(100 + at, 10_000, 100)
        models = (random_model(model_type, fields, seed, auto) for seed in seeds)
        model = next(model for model in models if tells_apart(model, tokenizer))
        options = dict(saved)
        if "dtype" in options:
            model = model.to(getattr(torch, options.pop("dtype")))
        path = os.path.join(folder, name)
        model.save_pretrained(path, **options)
        tokenizer.save_pretrained(path)
        if records:
            found = answers(path)
            del found["logits"]
            with open(os.path.join(path, "expected.json"), "w") as file:
                file.write(json.dumps(found, separators=(",", ":")) + "\n")
            compact(os.path.join(path, "tokenizer.json"))
        print(name, flush=True)


def code_points(entity):
    return {"type": entity["entity_group"], "start": int(entity["start"]), "end": int(entity["end"]),
            "score": round(float(entity["score"]), 8)}


def answers(folder):
    import torch
    import transformers

    with open(os.path.join(folder, "config.json")) as file:
        kind = json.load(file)["architectures"][0]
    tokens = kind.endswith("ForTokenClassification")
    auto = transformers.AutoModelForTokenClassification if tokens else transformers.AutoModelForSequenceClassification
    model = auto.from_pretrained(folder, dtype=torch.float32).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    task = "token-classification" if tokens else "text-classification"
    logits = []
    with torch.no_grad():
        for text in TEXTS:
            logits.append(model(**tokenizer(text, return_tensors="pt")).logits[0].flatten().tolist())
    found = {"class": type(model).__name__, "texts": TEXTS, "logits": logits,
             "writtenBy": f"transformers {transformers.__version__}, torch {torch.__version__}"}
    if tokens:
        for strategy in ("simple", "first"):
            ask = transformers.pipeline(task, model=model, tokenizer=tokenizer, aggregation_strategy=strategy)
            found[strategy] = [[code_points(entity) for entity in ask(text)] for text in TEXTS]
    else:
        ask = transformers.pipeline(task, model=model, tokenizer=tokenizer, top_k=None)
        found["labels"] = [ask([text])[0] for text in TEXTS]
    return found


def main():
    warnings.filterwarnings("ignore")
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for command in ("write", "record"):
        commands.add_parser(command).add_argument("folder")
    asking = commands.add_parser("ask")
    asking.add_argument("folders", nargs="+")
    options = parser.parse_args()
    if options.command != "ask":
        records = options.command == "record"
        size = {**SIZES["tiny"], "layers": 1, "vocabulary": 120} if records else {**SIZES["small"], "vocabulary": 320}
        write(options.folder, {**size, "positions": 80}, records)
        return
    for folder in options.folders:
        try:
            print(json.dumps(answers(folder)), flush=True)
        except Exception as error:
            print(json.dumps({"failure": f"{type(error).__name__}: {error}"[:500]}), flush=True)


if __name__ == "__main__":
    main()
