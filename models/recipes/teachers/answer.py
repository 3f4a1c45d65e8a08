"""A teacher for models of the catalogue that needs a GPU: fine-tunes an encoder of transformers on the rows that
`main.ts texts` wrote, and answers its texts.

    python3 answer.py <folder of an encoder> <work folder>/<model>/for-teacher --out <file.json.gz>

The rows are divided into folds. For each fold, a teacher learns from the other folds and answers the rows of this one, so
that no teacher answers what it has learned; all of them answer the texts, and their probabilities are averaged.
"""

import argparse
import gzip
import hashlib
import json
import math
import re
import time
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import nn
from transformers import AutoConfig, AutoModel

WORD = re.compile(r"[@#]?\w+|[^\w\s]")


def lines(path):
    return [json.loads(line) for line in path.read_text("utf-8").split("\n") if line] if path.exists() else []


class Task:
    """Rows, dev, tests and texts, each as (ids, target)."""

    def __init__(self, folder, limit=None):
        about = json.loads((folder / "task.json").read_text())
        self.name = about["name"]
        self.tags = about["family"] == "Grapefruit"
        self.many = about.get("type") == "multilabel-text-classification"
        self.parts = {"rows": lines(folder / "rows.jsonl"), "dev": lines(folder / "dev.jsonl")}
        for path in sorted(folder.glob("test-*.jsonl")):
            self.parts[path.stem] = lines(path)
        self.parts["texts"] = lines(folder / "texts.jsonl")
        if limit:
            self.parts = {name: some[:limit] for name, some in self.parts.items()}
        names = {name for row in self.parts["rows"] for name in self.named(row)}
        self.labels = sorted(names, key=lambda name: (name != "O", name)) if self.tags else sorted(names)
        self.id = {name: at for at, name in enumerate(self.labels)}

    def named(self, row):
        if self.tags:
            return row["tags"]
        return row["labels"] if "labels" in row else [row["label"]]

    def text(self, row):
        if isinstance(row, str):
            return [match.group() for match in WORD.finditer(row)] if self.tags else row
        return row.get("tokens", row.get("words")) if self.tags else row["text"]

    def target(self, row):
        if isinstance(row, str):
            return None
        if self.tags:
            return [self.id.get(tag, 0) for tag in row["tags"]]
        if self.many:
            hot = np.zeros(len(self.labels), np.float32)
            for name in row["labels"]:
                if name in self.id:
                    hot[self.id[name]] = 1
            return hot
        return self.id.get(self.named(row)[0], 0)

    def fold(self, row, folds):
        """By the text without case, so that copies of a row are in one fold."""
        text = self.text(row)
        key = (" ".join(text) if self.tags else text).lower()
        return hashlib.sha256(key.encode()).digest()[0] % folds


class Teacher(nn.Module):
    def __init__(self, folder, outputs, tags):
        super().__init__()
        config = AutoConfig.from_pretrained(folder)
        self.encoder = AutoModel.from_pretrained(folder, dtype=torch.float32)
        self.tags = tags
        self.dropout = nn.Dropout(0.1)
        self.head = nn.Linear(config.hidden_size, outputs)

    def forward(self, ids, mask, firsts):
        states = self.encoder(input_ids=ids, attention_mask=mask).last_hidden_state
        if self.tags:
            return self.head(self.dropout(states[firsts[:, 0], firsts[:, 1]]))
        mean = (states * mask.unsqueeze(-1)).sum(1) / mask.sum(1, keepdim=True)
        return self.head(self.dropout(mean))


class Encoded:
    """Ids of a part's texts; of long ones, the first third and the end of what fits."""

    def __init__(self, task, rows, tokenizer, longest):
        given = [task.text(row) for row in rows]
        # Only the slower call knows which word a token is of.
        encodings = tokenizer.encode_batch(given, is_pretokenized=True) if task.tags else tokenizer.encode_batch_fast(given)
        self.ids, self.words, self.targets = [], [], [task.target(row) for row in rows]
        self.counts = [len(each) for each in given] if task.tags else None
        for encoding in encodings:
            ids = encoding.ids
            if task.tags:
                firsts, seen = [], set()
                for at, word in enumerate(encoding.word_ids[:longest]):
                    if word is not None and word not in seen:
                        seen.add(word)
                        firsts.append((word, at))
                self.words.append(firsts)
                self.ids.append(ids[:longest])
            elif len(ids) > longest:
                self.ids.append(ids[: longest // 3] + ids[-(longest - longest // 3) :])
            else:
                self.ids.append(ids)

    def __len__(self):
        return len(self.ids)


def batches(lengths, size, rng=None, tokens=None):
    """Texts of about the same length together."""
    order = np.arange(len(lengths)) if rng is None else rng.permutation(len(lengths))
    chunk = len(order) if rng is None else size * 50
    made = []
    for start in range(0, len(order), chunk):
        part = order[start : start + chunk]
        part = part[np.argsort(np.asarray(lengths)[part], kind="stable")]
        at = 0
        while at < len(part):
            count = size
            if tokens:
                count = max(1, min(size, tokens // max(1, lengths[part[min(at + size, len(part)) - 1]])))
            made.append(part[at : at + count])
            at += count
    return made if rng is None else [made[at] for at in rng.permutation(len(made))]


def tensors(part, rows, pad, device):
    longest = max(len(part.ids[at]) for at in rows)
    ids = np.full((len(rows), longest), pad, np.int64)
    mask = np.zeros((len(rows), longest), np.int64)
    for to, at in enumerate(rows):
        ids[to, : len(part.ids[at])] = part.ids[at]
        mask[to, : len(part.ids[at])] = 1
    firsts = None
    if part.words:
        firsts = torch.tensor([(to, place) for to, at in enumerate(rows) for _, place in part.words[at]], dtype=torch.long)
        firsts = firsts.reshape(-1, 2).to(device, non_blocking=True)
    return torch.from_numpy(ids).to(device, non_blocking=True), torch.from_numpy(mask).to(device, non_blocking=True), firsts


def learn(model, part, rows, task, args, device, seed):
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    lengths = [len(part.ids[at]) for at in rows]
    steps = args.epochs * math.ceil(len(rows) / args.batch)
    head = list(model.head.parameters())
    plain = [p for p in model.encoder.parameters() if p.ndim < 2]
    decayed = [p for p in model.encoder.parameters() if p.ndim >= 2]
    groups = [
        {"params": decayed, "weight_decay": 0.01},
        {"params": plain, "weight_decay": 0},
        # Of many rare labels, a slow head would long say only that there is none.
        {"params": head, "weight_decay": 0.01, "lr": args.rate * (20 if task.many else 1)},
    ]
    optimizer = torch.optim.AdamW(groups, lr=args.rate, fused=device.type == "cuda")
    warm = max(1, int(0.06 * steps))
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: min((s + 1) / warm, max(0.0, (steps - s) / max(1, steps - warm))))
    model.train()
    for _ in range(args.epochs):
        for batch in batches(lengths, args.batch, rng):
            some = [rows[at] for at in batch]
            ids, mask, firsts = tensors(part, some, args.pad, device)
            with torch.autocast(device.type, torch.bfloat16):
                scores = model(ids, mask, firsts).float()
            if task.tags:
                wanted = torch.tensor([part.targets[at][word] for at in some for word, _ in part.words[at]], dtype=torch.long).to(device, non_blocking=True)
                loss = nn.functional.cross_entropy(scores, wanted)
            elif task.many:
                wanted = torch.from_numpy(np.stack([part.targets[at] for at in some])).to(device, non_blocking=True)
                loss = nn.functional.binary_cross_entropy_with_logits(scores, wanted)
            else:
                wanted = torch.tensor([part.targets[at] for at in some]).to(device, non_blocking=True)
                loss = nn.functional.cross_entropy(scores, wanted)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()


@torch.no_grad()
def answers(model, part, rows, task, args, device):
    """Probabilities: a row for each text, or for each word of each text."""
    model.eval()
    lengths = [len(part.ids[at]) for at in rows]
    found = [None] * len(rows)
    waiting = []
    for batch in batches(lengths, 512, tokens=32768):
        some = [rows[at] for at in batch]
        ids, mask, firsts = tensors(part, some, args.pad, device)
        with torch.autocast(device.type, torch.bfloat16):
            scores = model(ids, mask, firsts).float()
        waiting.append((batch, some, torch.sigmoid(scores) if task.many else torch.softmax(scores, -1)))
    for batch, some, shares in waiting:
        shares = shares.cpu().numpy()
        if not task.tags:
            for to, at in enumerate(batch):
                found[at] = shares[to]
            continue
        to = 0
        for at, row in zip(batch, some):
            words = np.zeros((part.counts[row], len(task.labels)), np.float32)
            words[:, 0] = 1
            for word, _ in part.words[row]:
                words[word] = shares[to]
                to += 1
            found[at] = words
    return found


def entities(tags):
    spans, start, kind = set(), None, None
    for at, tag in enumerate([*tags, "O"]):
        inside = tag.startswith("I-") and kind == tag[2:]
        if kind is not None and not inside:
            spans.add((start, at, kind))
            kind = None
        if tag != "O" and not inside:
            start, kind = at, tag[2:]
    return spans


def figures(task, part, shares, thresholds=None):
    if task.tags:
        right = found = wanted = 0
        for target, words in zip(part.targets, shares):
            given = entities([task.labels[at] for at in words.argmax(-1)])
            real = entities([task.labels[at] for at in target])
            right, found, wanted = right + len(given & real), found + len(given), wanted + len(real)
        return {"f1": round(200 * right / max(1, found + wanted), 2)}
    shares = np.stack(shares)
    if not task.many:
        targets = np.array(part.targets)
        given = shares.argmax(-1)
        kinds = range(len(task.labels))
        f1 = [2 * ((given == k) & (targets == k)).sum() / max(1, (given == k).sum() + (targets == k).sum()) for k in kinds]
        return {"accuracy": round(100 * float((given == targets).mean()), 2), "macro_f1": round(100 * float(np.mean(f1)), 2)}
    targets = np.stack(part.targets)
    cuts = np.full(len(task.labels), 0.5) if thresholds is None else thresholds
    given = shares >= cuts
    each = 2 * (given * targets).sum(0) / np.maximum(1, given.sum(0) + targets.sum(0))
    micro = 2 * (given * targets).sum() / (given.sum() + targets.sum())
    return {"macro_f1": round(100 * float(each.mean()), 2), "micro_f1": round(100 * float(micro), 2)}


def best_cuts(shares, targets):
    shares, targets = np.stack(shares), np.stack(targets)
    tried = np.linspace(0.05, 0.8, 31)
    scores = np.stack([2 * ((shares >= cut) * targets).sum(0) / np.maximum(1, (shares >= cut).sum(0) + targets.sum(0)) for cut in tried])
    return tried[scores.argmax(0)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("encoder", type=Path)
    parser.add_argument("task", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--folds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--rate", type=float, default=3e-5)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--longest", type=int, default=128)
    parser.add_argument("--prefix", default="")
    parser.add_argument("--limit", type=int)
    args = parser.parse_args()
    began = time.time()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.backends.cuda.matmul.allow_tf32 = True
    task = Task(args.task, args.limit)
    tokenizer = Tokenizer.from_file(str(args.encoder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    args.pad = AutoConfig.from_pretrained(args.encoder).pad_token_id or 0
    parts = {name: Encoded(task, rows, tokenizer, args.longest) for name, rows in task.parts.items()}
    folds = np.array([task.fold(row, args.folds) for row in task.parts["rows"]])
    print(task.name, {name: len(part) for name, part in parts.items()}, len(task.labels), "labels", f"{time.time() - began:.0f} s", flush=True)
    shares = {name: None for name in parts}
    own = [None] * len(folds)
    for fold in range(args.folds):
        torch.manual_seed(fold)
        model = Teacher(args.encoder, len(task.labels), task.tags).to(device)
        if task.many:
            nn.init.constant_(model.head.bias, -3.0)
        learned = np.flatnonzero(folds != fold) if args.folds > 1 else np.arange(len(folds))
        learn(model, parts["rows"], learned, task, args, device, fold)
        asked = np.flatnonzero(folds == fold)
        for at, share in zip(asked, answers(model, parts["rows"], asked, task, args, device)):
            own[at] = share
        said = {}
        for name, part in parts.items():
            if name == "rows" or len(part) == 0:
                continue
            found = answers(model, part, np.arange(len(part)), task, args, device)
            shares[name] = found if shares[name] is None else [a + b for a, b in zip(shares[name], found)]
            if name != "texts":
                said[name] = figures(task, part, found)
        print(task.name, "fold", fold, said, f"{time.time() - began:.0f} s", flush=True)
        del model
    means = {name: [each / args.folds for each in some] for name, some in shares.items() if some is not None}
    said = {}
    cuts = best_cuts(means["dev"], parts["dev"].targets) if task.many and "dev" in means else None
    for name in means:
        if name != "texts":
            said[name] = figures(task, parts[name], means[name], cuts if name != "dev" else None)
    said["rows"] = figures(task, parts["rows"], own)
    print(task.name, "TOGETHER", said, f"{time.time() - began:.0f} s", flush=True)
    thousandths = lambda some: [np.round(1000 * each).astype(int).tolist() for each in some]
    teacher = args.encoder.resolve().name
    saved = {"teacher": teacher, "labels": task.labels, "figures": said, "rows": thousandths(own), "texts": thousandths(means.get("texts", []))}
    with open(args.out, "wb") as file, gzip.GzipFile(fileobj=file, mode="wb", mtime=0, filename="") as packed:
        packed.write(json.dumps(saved, separators=(",", ":")).encode())


if __name__ == "__main__":
    main()
