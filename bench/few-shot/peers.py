"""Classifiers of few rows on the same encoder: scikit-learn on its frozen vectors, and SetFit's recipe.

Reads one JSON object from standard input: train rows as [text, label id], test texts, their vectors (train, test), the
encoder's folder (`weights`), threads, seed, and pairs per row for SetFit (0: leave it out). Prints one: by name, the
predicted label ids and the seconds of fitting, or {"missing": package}. scikit-learn's seconds leave out the vectors.
"""

import json
import os
import random
import sys
import tempfile
import time

task = json.load(sys.stdin)
os.environ.update({"TOKENIZERS_PARALLELISM": "false", "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": str(task["threads"])})
sys.path.append(os.path.join(os.path.dirname(__file__), "../peers"))
ANSWER = os.dup(1)
os.dup2(2, 1)  # libraries print to standard output
RATE, BATCH, LENGTH = 1e-4, 16, 128


def scikit_learn(rows, test):
    from sklearn.linear_model import LogisticRegression
    from sklearn.neighbors import NearestCentroid

    labels = [label for _, label in task["train"]]
    models = {f"LR, C = {c}": LogisticRegression(C=c, max_iter=2000) for c in (1, 30)}
    answers = {}
    for name, model in {**models, "centroid": NearestCentroid()}.items():
        started = time.perf_counter()
        model.fit(rows, labels)
        answers[name] = {"seconds": time.perf_counter() - started, "predicted": model.predict(test).tolist()}
    return answers


def setfit():
    """Tunstall et al. 2022: pairs of equal and of different labels, cosine similarity loss, then logistic regression."""
    import torch
    from plain_weights import plain_weights
    from sklearn.linear_model import LogisticRegression
    from transformers import AutoModel, AutoTokenizer

    torch.set_num_threads(task["threads"])
    torch.manual_seed(task["seed"])
    draw = random.Random(task["seed"])
    with tempfile.TemporaryDirectory() as copy:
        folder = plain_weights(task["weights"], copy)
        tokenizer = AutoTokenizer.from_pretrained(folder)
        encoder = AutoModel.from_pretrained(folder, dtype=torch.float32, add_pooling_layer=False)

    def vectors(texts):
        read = tokenizer(texts, padding=True, truncation=True, max_length=LENGTH, return_tensors="pt")
        mask = read["attention_mask"].unsqueeze(-1).float()
        pooled = (encoder(**read).last_hidden_state * mask).sum(1) / mask.sum(1)
        return torch.nn.functional.normalize(pooled, dim=1)

    @torch.no_grad()
    def frozen(texts):
        """Texts of like length together, so that few of a batch's tokens are padding."""
        order = sorted(range(len(texts)), key=lambda at: len(texts[at]))
        found = torch.cat([vectors([texts[at] for at in order[start : start + 64]]) for start in range(0, len(order), 64)])
        return found[torch.argsort(torch.tensor(order))].numpy()

    started = time.perf_counter()
    by_label = {}
    for text, label in task["train"]:
        by_label.setdefault(label, []).append(text)
    pairs = []
    for text, label in task["train"] * task["pairs"]:
        other = draw.choice([each for each in by_label if each != label])
        pairs += [(text, draw.choice(by_label[label]), 1.0), (text, draw.choice(by_label[other]), 0.0)]
    draw.shuffle(pairs)
    optimizer = torch.optim.AdamW(encoder.parameters(), lr=RATE)
    batches = [pairs[start : start + BATCH] for start in range(0, len(pairs), BATCH)]
    warm = max(1, len(batches) // 10)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1, (step + 1) / warm) * max(0.02, 1 - step / len(batches))
    )
    encoder.train()
    for batch in batches:
        both = vectors([pair[0] for pair in batch] + [pair[1] for pair in batch])
        cosine = (both[: len(batch)] * both[len(batch) :]).sum(1)
        loss = ((cosine - torch.tensor([pair[2] for pair in batch])) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    encoder.eval()
    head = LogisticRegression(max_iter=1000)
    head.fit(frozen([text for text, _ in task["train"]]), [label for _, label in task["train"]])
    seconds = time.perf_counter() - started
    return {"SetFit": {"seconds": seconds, "predicted": head.predict(frozen(task["test"])).tolist()}}


def main():
    answers, missing = {}, []
    kinds = [lambda: scikit_learn(*task["vectors"])] + ([setfit] if task["pairs"] > 0 else [])
    for run in kinds:
        try:
            answers.update(run())
        except ModuleNotFoundError as error:
            missing.append(error.name)
    with os.fdopen(ANSWER, "w") as out:
        json.dump({"answers": answers, "missing": missing}, out)


main()
