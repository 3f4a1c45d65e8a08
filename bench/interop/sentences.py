"""Writes small random folders of sentence-transformers, and what it computes with them.

Usage: python3 sentences.py FOLDER [--size tiny|small]

Each folder in FOLDER is as `save_pretrained` leaves it, with expected.json beside it: for an encoder of sentences, the
vectors of TEXTS for each prompt, and how similar the vectors are; for a cross-encoder, the scores of all PAIRS. The names are
printed. Nothing is fetched from anywhere.
"""

import argparse
import json
import os
import shutil
import warnings

from checkpoints import TEXTS as PROBES
from checkpoints import tokenizer_for
from random_encoders import SIZES, encoders, random_model

LONG = "two spaces and a tab then a line " * 6
TEXTS = [*PROBES, LONG, "the Plot twist"]
PAIRS = [
    ["Who wrote to Babbage?", PROBES[0]],
    ["what costs 3.50 €", PROBES[2]],
    ["plot", LONG],
    [LONG, "cafe"],
    [LONG, LONG[10:]],
    ["", "x"],
    ["東京", PROBES[5]],
]


def sentence_folders():
    """Architecture, poolings, modules after them and settings, of each folder by its name."""
    of = {}

    def add(name, base, pooling, modules=(), **settings):
        of[name] = (base, pooling, modules, settings)

    for mode in ("cls", "max", "mean", "mean_sqrt_len_tokens", "weightedmean", "lasttoken"):
        add(f"bert-{mode}", "bert", mode)
    add("bert-several-legacy", "bert", ("cls", "max", "mean", "weightedmean"), ["Normalize"], legacy=True)
    add("electra-several", "electra", ("mean", "cls"))
    add("mpnet-mean-dense-normalize", "mpnet", "mean", [("Dense", "Tanh", 5), "Normalize"], legacy=True,
        length=9)
    add("xlm-roberta-cls-dense", "xlm-roberta", "cls", [("Dense", "Identity", 12)], similarity="dot")
    add("albert-max-residual", "albert", "max", [("Residual", "ReLU", 6), "Dropout", ("Residual", "SiLU", 6)])
    add("distilbert-norm", "distilbert", "mean", ["LayerNorm", ("Dense", "Sigmoid", 4)], similarity="euclidean",
        lowercase=True, legacy=True)
    prompts = {"query": "find: ", "document": "the text: ", "task": "in london "}
    add("roberta-prompts", "roberta", "mean", ["Normalize"], prompts=prompts, default="task")
    for mode in ("cls", "mean", "weightedmean", "lasttoken", "max"):
        add(f"bert-without-prompt-{mode}", "bert", mode, prompts={**prompts, "document": ""}, apart=True)
    add("modernbert-short", "modernbert", "mean", ["Normalize"], length=12)
    add("deberta-v3", "deberta-v3", "cls", ["Normalize"], prompts={"passage": "a line "}, similarity="manhattan")
    return of


CROSS_ENCODERS = {
    "bert": {},
    "bert-identity": {"activation": "torch.nn.modules.linear.Identity"},
    "roberta": {},
    "xlm-roberta": {"length": 24},
    "distilbert": {},
    "deberta-v3": {},
    "electra": {},
    "modernbert": {"classifier_pooling": "mean"},
    "mpnet": {},
    "albert": {"classifier_dropout_prob": 0.1},
}


# Of a tiny size only those that compute something of their own.
ONLY_SMALL = {"bert-mean", "electra-several", "modernbert-short", "bert-without-prompt-max", "bert-without-prompt-weightedmean",
              "mpnet", "albert"}


def rounded(vectors):
    return [[round(number, 8) for number in vector] for vector in vectors.tolist()]


def base_of(folder, base, size, seed, auto, fields=None):
    model_type, given = encoders(size)[base]
    tokenizer = tokenizer_for(model_type, size["vocabulary"])
    if model_type in ("bert", "electra", "albert"):
        tokenizer.model_input_names = ["input_ids", "token_type_ids", "attention_mask"]
    ids = {"pad_token_id": tokenizer.pad_token_id, "vocab_size": len(tokenizer)}
    model = random_model(model_type, {**given, **ids, **(fields or {})}, seed, auto)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return model.config.hidden_size


def random_weights(module, torch):
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_((1 if parameter.dim() == 1 else 0) + 0.5 * torch.randn_like(parameter))
    return module


def layers_of(modules, width, torch):
    from sentence_transformers import models

    built = []
    for module in modules:
        if isinstance(module, str):
            arguments = {"LayerNorm": {"dimension": width}}.get(module, {})
            built.append(getattr(models, module)(**arguments))
        else:
            kind, activation, outputs = module
            built.append(models.Dense(width, outputs, bias=activation != "Identity",
                                      activation_function=getattr(torch.nn, activation)(),
                                      use_residual=kind == "Residual"))
            width = outputs
    return [random_weights(module, torch) for module in built]


LEGACY_FLAGS = {"cls": "cls_token", "max": "max_tokens", "mean": "mean_tokens",
                "mean_sqrt_len_tokens": "mean_sqrt_len_tokens", "weightedmean": "weightedmean_tokens",
                "lasttoken": "lasttoken"}


def as_before(path, pooling, plain, settings):
    """Names and fields of releases before 5, whose tokenizer stays as it was."""
    for file in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(os.path.join(plain, file), path)
    with open(os.path.join(path, "sentence_bert_config.json"), "w") as file:
        json.dump({"max_seq_length": settings.get("length"), "do_lower_case": settings.get("lowercase", False)}, file)
    name = os.path.join(path, "modules.json")
    with open(name) as file:
        modules = json.load(file)
    for module in modules:
        module["type"] = "sentence_transformers.models." + module["type"].split(".")[-1]
    with open(name, "w") as file:
        json.dump(modules, file)
    flags = {f"pooling_mode_{flag}": mode in pooling for mode, flag in LEGACY_FLAGS.items()}
    with open(os.path.join(path, "1_Pooling", "config.json")) as file:
        width = json.load(file)["embedding_dimension"]
    with open(os.path.join(path, "1_Pooling", "config.json"), "w") as file:
        json.dump({"word_embedding_dimension": width, **flags}, file)


def write_sentences(folder, name, size, seed, base, pooling, modules, settings):
    import torch
    from sentence_transformers import SentenceTransformer, models

    plain = os.path.join(folder, f".{name}")
    width = base_of(plain, base, size, seed, "AutoModel")
    torch.manual_seed(seed + 1)
    reading = {"do_lower_case": True} if settings.get("lowercase") else {}
    transformer = models.Transformer(plain, max_seq_length=settings.get("length"), **reading)
    pool = models.Pooling(width, pooling, include_prompt=not settings.get("apart", False))
    layers = layers_of(modules, pool.get_embedding_dimension(), torch)
    model = SentenceTransformer(modules=[transformer, pool, *layers], prompts=settings.get("prompts"),
                                default_prompt_name=settings.get("default"), device="cpu",
                                similarity_fn_name=settings.get("similarity"))
    path = os.path.join(folder, name)
    model.save_pretrained(path, create_model_card=False)
    if settings.get("legacy"):
        as_before(path, pooling if isinstance(pooling, tuple) else (pooling,), plain, settings)
    shutil.rmtree(plain)
    loaded = SentenceTransformer(path, device="cpu")
    asked = [{}, {"prompt": "a text: "}, *({"prompt_name": name} for name in settings.get("prompts") or ())]
    answers = [{**prompt, "vectors": rounded(loaded.encode(TEXTS, **prompt))} for prompt in asked]
    vectors = loaded.encode(TEXTS)
    return path, {"texts": TEXTS, "answers": answers, "similarities": rounded(loaded.similarity(vectors[:1], vectors))[0]}


def write_cross_encoder(folder, name, size, seed, base, activation=None, length=None, **fields):
    from sentence_transformers import CrossEncoder

    path = os.path.join(folder, f"cross-{name}")
    fields = {**fields, "num_labels": 1, **({"sentence_transformers": {"activation_fn": activation}} if activation else {})}
    base_of(path, base, size, seed, "AutoModelForSequenceClassification", fields)
    if length is not None:
        CrossEncoder(path, device="cpu", max_length=length).save_pretrained(path, create_model_card=False)
    loaded = CrossEncoder(path, device="cpu")
    return path, {"pairs": PAIRS, "scores": loaded.predict(PAIRS).tolist()}


def finish(path, expected):
    import sentence_transformers
    import torch
    import transformers

    versions = {"sentence-transformers": sentence_transformers, "transformers": transformers, "torch": torch}
    written = ", ".join(f"{name} {module.__version__}" for name, module in versions.items())
    with open(os.path.join(path, "expected.json"), "w") as file:
        file.write(json.dumps({"writtenBy": written, **expected}, ensure_ascii=False) + "\n")
    print(os.path.basename(path), flush=True)


def main():
    warnings.filterwarnings("ignore")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("--size", choices=SIZES, default="small")
    options = parser.parse_args()
    size = {**SIZES[options.size], "vocabulary": 320, "positions": 80}
    if options.size == "tiny":
        size["layers"] = 1
    left_out = ONLY_SMALL if options.size == "tiny" else set()
    for at, (name, folder) in enumerate(sentence_folders().items()):
        if name not in left_out:
            finish(*write_sentences(options.folder, name, size, 300 + 10 * at, *folder))
    for at, (name, fields) in enumerate(CROSS_ENCODERS.items()):
        if name not in left_out:
            base = name.replace("-identity", "")
            finish(*write_cross_encoder(options.folder, name, size, 900 + 10 * at, base, **fields))


if __name__ == "__main__":
    main()
