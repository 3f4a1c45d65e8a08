"""A teacher for classifiers of the catalogue that needs a GPU: fine-tunes an encoder on the rows that `main.ts texts`
wrote, and answers its texts. README.md beside this file has an example.

The rows are divided into folds. For each fold, a teacher learns from the other folds and answers the rows of this one, so
that no row is answered by a teacher that has learned it. All teachers answer the texts, and their probabilities are
averaged.
"""

import argparse
import gzip
import hashlib
import json
import math
import time
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import nn
from transformers import AutoConfig, AutoModel

FIGURES = ("dev", "test")


class Task:
    """The rows, dev and test rows, and texts of a recipe."""

    def __init__(self, folder, limit):
        about = json.loads((folder / "task.json").read_text("utf-8"))
        self.name, self.given = about["name"], about["given"]
        self.has_several = about["type"] == "multilabel-text-classification"
        self.parts = {part: lines(folder / f"{part}.jsonl")[:limit] for part in ("rows", *FIGURES, "texts")}
        self.labels = sorted({label for row in self.parts["rows"] for label in labels_of(row)})
        self.ids = {label: at for at, label in enumerate(self.labels)}

    def targets(self, part):
        rows = self.parts[part]
        if not self.has_several:
            return np.array([self.ids.get(labels_of(row)[0], -1) for row in rows])
        hot = np.zeros((len(rows), len(self.labels)), np.float32)
        for at, row in enumerate(rows):
            hot[at, [self.ids[label] for label in labels_of(row) if label in self.ids]] = 1
        return hot


def lines(path):
    return [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]


def labels_of(row):
    return row["labels"] if "labels" in row else [row["label"]]


def text_of(row):
    return row if isinstance(row, str) else row["text"]


def fold_of(row, folds):
    """By the text without case, so that copies of a row are in one fold."""
    return hashlib.sha256(text_of(row).lower().encode()).digest()[0] % folds


class Teacher(nn.Module):
    """An encoder and a linear layer over the mean of its states."""

    def __init__(self, folder, task):
        super().__init__()
        self.encoder = AutoModel.from_pretrained(folder, dtype=torch.float32)
        self.dropout = nn.Dropout(0.1)
        self.head = nn.Linear(self.encoder.config.hidden_size, len(task.labels))
        if task.has_several:
            nn.init.constant_(self.head.bias, -3.0)

    def forward(self, ids, mask):
        states = self.encoder(input_ids=ids, attention_mask=mask).last_hidden_state
        mean = (states * mask.unsqueeze(-1)).sum(1) / mask.sum(1, keepdim=True)
        return self.head(self.dropout(mean))


class Reader:
    """Turns texts into token ids, and these into batches."""

    def __init__(self, folder, max_tokens, device):
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.no_truncation()
        self.pad = AutoConfig.from_pretrained(folder).pad_token_id or 0
        self.max_tokens, self.device = max_tokens, device

    def ids(self, rows):
        """Of a text that is too long, the first third and the end of what fits."""
        first = self.max_tokens // 3
        cut = lambda ids: ids if len(ids) <= self.max_tokens else ids[:first] + ids[first - self.max_tokens :]
        return [cut(encoding.ids) for encoding in self.tokenizer.encode_batch_fast([text_of(row) for row in rows])]

    def tensors(self, some):
        longest = max(map(len, some))
        ids = np.full((len(some), longest), self.pad, np.int64)
        mask = np.zeros((len(some), longest), np.int64)
        for at, each in enumerate(some):
            ids[at, : len(each)] = each
            mask[at, : len(each)] = 1
        return torch.from_numpy(ids).to(self.device), torch.from_numpy(mask).to(self.device)


def learning_batches(lengths, size, rng):
    """In random order, with texts of about the same length together."""
    order = rng.permutation(len(lengths))
    made = []
    for start in range(0, len(order), 50 * size):
        part = order[start : start + 50 * size]
        part = part[np.argsort(lengths[part], kind="stable")]
        made += [part[at : at + size] for at in range(0, len(part), size)]
    return [made[at] for at in rng.permutation(len(made))]


def learn(teacher, ids, targets, task, reader, args, seed):
    rng = np.random.default_rng(seed)
    lengths = np.array([len(each) for each in ids])
    steps = args.epochs * math.ceil(len(ids) / args.batch_size)
    warm = max(1, round(0.06 * steps))
    encoder = list(teacher.encoder.parameters())
    groups = [
        {"params": [each for each in encoder if each.ndim > 1], "weight_decay": 0.01},
        {"params": [each for each in encoder if each.ndim == 1], "weight_decay": 0},
        # Of many rare labels, a slow head would long say only that there is none.
        {"params": list(teacher.head.parameters()), "lr": args.learning_rate * (20 if task.has_several else 1)},
    ]
    optimizer = torch.optim.AdamW(groups, lr=args.learning_rate, fused=reader.device.type == "cuda")
    share = lambda step: min((step + 1) / warm, (steps - step) / max(1, steps - warm))
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, share)
    loss_of = nn.functional.binary_cross_entropy_with_logits if task.has_several else nn.functional.cross_entropy
    teacher.train()
    for _ in range(args.epochs):
        for batch in learning_batches(lengths, args.batch_size, rng):
            with torch.autocast(reader.device.type, torch.bfloat16):
                scores = teacher(*reader.tensors([ids[at] for at in batch])).float()
            loss = loss_of(scores, torch.from_numpy(targets[batch]).to(reader.device))
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(teacher.parameters(), 1.0)
            optimizer.step()
            schedule.step()


@torch.no_grad()
def answers(teacher, ids, task, reader):
    """Probabilities: texts × labels."""
    teacher.eval()
    shares = np.zeros((len(ids), len(task.labels)), np.float32)
    order = np.argsort([len(each) for each in ids], kind="stable")
    for start in range(0, len(order), 128):
        batch = order[start : start + 128]
        with torch.autocast(reader.device.type, torch.bfloat16):
            scores = teacher(*reader.tensors([ids[at] for at in batch])).float()
        shares[batch] = (torch.sigmoid(scores) if task.has_several else torch.softmax(scores, -1)).cpu().numpy()
    return shares


def f1(given, wanted, axis):
    return 2 * (given & wanted).sum(axis) / np.maximum(1, given.sum(axis) + wanted.sum(axis))


def figures(shares, targets, task, cuts):
    if task.has_several:
        given, wanted = shares >= cuts, targets > 0
        return {"macro_f1": percent(f1(given, wanted, 0).mean()), "micro_f1": percent(f1(given, wanted, None))}
    return {"accuracy": percent((shares.argmax(-1) == targets).mean())}


def percent(value):
    return round(100 * float(value), 2)


def best_cuts(shares, targets):
    """For each label, the threshold with the best F1."""
    tried = np.linspace(0.05, 0.8, 31)
    scores = np.stack([f1(shares >= cut, targets > 0, 0) for cut in tried])
    return tried[scores.argmax(0)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("encoder", type=Path, help="folder of an encoder that transformers loads, with tokenizer.json")
    parser.add_argument("task", type=Path, help="folder that `main.ts texts` wrote")
    parser.add_argument("--out", type=Path, required=True, help="file to write, .json.gz")
    parser.add_argument("--folds", type=int, default=3, help="teachers, at least 2 (default: 3)")
    parser.add_argument("--epochs", type=int, default=3, help="(default: 3)")
    parser.add_argument("--learning-rate", type=float, default=3e-5, help="(default: 3e-5)")
    parser.add_argument("--batch-size", type=int, default=32, help="rows of a step (default: 32)")
    parser.add_argument("--max-tokens", type=int, default=128, help="of longer texts, a part is read (default: 128)")
    parser.add_argument("--limit", type=int, help="rows and texts, to try the program")
    args = parser.parse_args()
    if args.folds < 2:
        parser.error("--folds: give at least 2, so that no row is answered by a teacher that has learned it")
    began = time.time()
    task = Task(args.task, args.limit)
    reader = Reader(args.encoder, args.max_tokens, torch.device("cuda" if torch.cuda.is_available() else "cpu"))
    ids = {part: reader.ids(rows) for part, rows in task.parts.items()}
    targets = {part: task.targets(part) for part in ("rows", *FIGURES)}
    folds = np.array([fold_of(row, args.folds) for row in task.parts["rows"]])
    shares = {part: np.zeros((len(each), len(task.labels)), np.float32) for part, each in ids.items()}
    for fold in range(args.folds):
        torch.manual_seed(fold)
        teacher = Teacher(args.encoder, task).to(reader.device)
        learned, asked = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        learn(teacher, [ids["rows"][at] for at in learned], targets["rows"][learned], task, reader, args, fold)
        shares["rows"][asked] = answers(teacher, [ids["rows"][at] for at in asked], task, reader)
        for part in (*FIGURES, "texts"):
            shares[part] += answers(teacher, ids[part], task, reader) / args.folds
        print(f"{task.name}: teacher {fold + 1} of {args.folds}, {time.time() - began:.0f} s", flush=True)
    has_dev = len(ids["dev"]) > 0
    cuts = best_cuts(shares["dev"], targets["dev"]) if task.has_several and has_dev else 0.5
    said = {part: figures(shares[part], targets[part], task, cuts) for part in targets if len(ids[part]) > 0}
    print(task.name, said)
    thousandths = lambda part: np.round(1000 * shares[part]).astype(int).tolist()
    content = {"teacher": args.encoder.resolve().name, "given": task.given, "labels": task.labels, "figures": said}
    content |= {part: thousandths(part) for part in ("rows", "texts")}
    with open(args.out, "wb") as file, gzip.GzipFile(fileobj=file, mode="wb", mtime=0, filename="") as packed:
        packed.write(json.dumps(content, separators=(",", ":")).encode())


if __name__ == "__main__":
    main()
