"""Loads model folders unchanged in transformers and sentence-transformers and runs texts through them.

Reads one JSON object from standard input: `folders`, each with its path and how to load it, and `texts`. Prints one
JSON line a folder: the ids of each text's tokens and its outputs, flat, or the reason why there are none. Nothing is
fetched from anywhere.
"""

import inspect
import json
import os
import sys

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"
os.environ["TQDM_DISABLE"] = "1"


def tokenize(path, texts):
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(path)
    return tokenizer(texts, padding=True, truncation=True, return_tensors="pt")


def read_by(model, batch):
    """The inputs that the model takes: a BERT's tokenizer gives token types, which not every encoder reads."""
    taken = inspect.signature(model.forward).parameters
    return {name: values for name, values in batch.items() if name in taken}


def ids_of(batch):
    return [ids[mask.bool()].tolist() for ids, mask in zip(batch["input_ids"], batch["attention_mask"])]


def sequence_classification(path, texts):
    """The encoder's own class for sequences: the first token's state through its own head."""
    from transformers import AutoModelForSequenceClassification

    model, report = AutoModelForSequenceClassification.from_pretrained(path, output_loading_info=True)
    complete(report)
    batch = tokenize(path, texts)
    return ids_of(batch), model.eval()(**read_by(model, batch)).logits.tolist()


def token_classification(path, texts):
    """The encoder's own class for tokens: its own head on every token's state; padding is left out."""
    from transformers import AutoModelForTokenClassification

    model, report = AutoModelForTokenClassification.from_pretrained(path, output_loading_info=True)
    complete(report)
    batch = tokenize(path, texts)
    logits = model.eval()(**read_by(model, batch)).logits
    masks = batch["attention_mask"].bool()
    return ids_of(batch), [rows[mask].flatten().tolist() for rows, mask in zip(logits, masks)]


def mean_classification(path, texts):
    """The class that the folder brings along; without leave to run it, transformers must refuse, not guess."""
    from transformers import AutoModelForSequenceClassification, pipeline

    try:
        AutoModelForSequenceClassification.from_pretrained(path)
    except (RuntimeError, ValueError):
        pass
    else:
        raise ValueError("transformers' own class loaded the folder and made up a layer")
    model, report = AutoModelForSequenceClassification.from_pretrained(
        path, trust_remote_code=True, output_loading_info=True
    )
    complete(report)
    classify = pipeline("text-classification", path, trust_remote_code=True)
    if len(classify(texts[:2])) != 2:
        raise ValueError("the pipeline gave no label for each text")
    batch = tokenize(path, texts)
    return ids_of(batch), model.eval()(**read_by(model.base_model, batch)).logits.tolist()


def sentence_vectors(path, texts):
    """SentenceTransformer(folder).encode: pooling and normalization are what the folder says."""
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(path, device="cpu")
    return ids_of(tokenize(path, texts)), model.encode(texts).tolist()


def complete(report):
    """Refuses a model part of whose weights the folder does not have: they would be random."""
    missing = sorted(report["missing_keys"])
    if missing:
        raise ValueError(f"the folder lacks {', '.join(missing)}")


LOADERS = {
    "sequence-classification": ("transformers", sequence_classification),
    "token-classification": ("transformers", token_classification),
    "mean-classification": ("transformers", mean_classification),
    "sentence-vectors": ("sentence_transformers", sentence_vectors),
}


def run(folder, texts):
    import torch

    package, load = LOADERS[folder["load"]]
    version = __import__(package).__version__
    with torch.no_grad():
        ids, outputs = load(folder["path"], texts)
    return {"library": f"{package} {version}", "ids": ids, "outputs": outputs}


def main():
    task = json.load(sys.stdin)
    for folder in task["folders"]:
        try:
            answer = run(folder, task["texts"])
        except ImportError as error:
            answer = {"missing": f"{error.name or error} is not installed"}
        except Exception as error:
            answer = {"failure": f"{type(error).__name__}: {error}"[:500]}
        print(json.dumps(answer), flush=True)


main()
