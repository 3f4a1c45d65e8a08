"""One encoder for several classifiers: reads one JSON object of settings and tasks from standard input.

Three designs on the same rows: `own`, an encoder fine-tuned for each task; `shared`, one encoder fine-tuned on all tasks
together, batches of the tasks in random order, with one linear layer a task; `frozen`, the encoder as it is under a logistic
regression a task. Mean pooling, AdamW, linear warm-up and decay. Prints test accuracy of the last epoch, in percent.
"""

import json
import random
import sys

import torch
import torch.nn.functional as F
from sklearn.linear_model import LogisticRegression
from torch import nn
from transformers import AutoModel, AutoTokenizer

WARMUP = 0.1
MAX_TOKENS = 64
EVALUATION_BATCH = 128


def batches(task, split, size):
    rows = task[split]
    return [rows[start : start + size] for start in range(0, len(rows), size)]


def main():
    settings = json.load(sys.stdin)
    torch.set_num_threads(settings["threads"])
    tokenizer = AutoTokenizer.from_pretrained(settings["backbone"])
    tasks = settings["tasks"]

    def pooled(encoder, rows):
        batch = tokenizer(
            [text for text, _ in rows], padding=True, truncation=True, max_length=MAX_TOKENS, return_tensors="pt"
        )
        states = encoder(**batch).last_hidden_state
        mask = batch["attention_mask"].unsqueeze(-1).float()
        return (states * mask).sum(1) / mask.sum(1)

    def labels(rows):
        return torch.tensor([label for _, label in rows])

    def vectors(encoder, task, split):
        encoder.eval()
        with torch.no_grad():
            return torch.cat([pooled(encoder, rows) for rows in batches(task, split, EVALUATION_BATCH)])

    def tuned(names):
        """Accuracies by task of one encoder fine-tuned on all of these."""
        torch.manual_seed(settings["seed"])
        shuffle = random.Random(settings["seed"])
        encoder = AutoModel.from_pretrained(settings["backbone"], add_pooling_layer=False, dtype=torch.float32)
        heads = nn.ModuleDict({name: nn.Linear(encoder.config.hidden_size, tasks[name]["labels"]) for name in names})
        dropout = nn.Dropout(0.1)
        parameters = [*encoder.parameters(), *heads.parameters()]
        optimizer = torch.optim.AdamW(parameters, lr=settings["learning_rate"], weight_decay=0.01)
        epochs = settings["epochs"]
        steps = epochs * sum(-(-len(tasks[name]["train"]) // settings["batch"]) for name in names)
        schedule = torch.optim.lr_scheduler.LambdaLR(
            optimizer, lambda step: min((step + 1) / (WARMUP * steps), (steps - step) / ((1 - WARMUP) * steps))
        )
        for _ in range(epochs):
            plan = []
            for name in names:
                shuffle.shuffle(tasks[name]["train"])
                plan += [(name, rows) for rows in batches(tasks[name], "train", settings["batch"])]
            shuffle.shuffle(plan)
            encoder.train()
            for name, rows in plan:
                logits = heads[name](dropout(pooled(encoder, rows)))
                loss = F.cross_entropy(logits, labels(rows), label_smoothing=0.1)
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(parameters, 1.0)
                optimizer.step()
                schedule.step()
        accuracy = {}
        for name in names:
            with torch.no_grad():
                predicted = heads[name](vectors(encoder, tasks[name], "test")).argmax(1)
            accuracy[name] = (predicted == labels(tasks[name]["test"])).float().mean().item() * 100
        return accuracy

    def frozen(name):
        encoder = AutoModel.from_pretrained(settings["backbone"], add_pooling_layer=False, dtype=torch.float32)
        regression = LogisticRegression(C=10, max_iter=500)
        regression.fit(vectors(encoder, tasks[name], "train"), labels(tasks[name]["train"]))
        return 100 * regression.score(vectors(encoder, tasks[name], "test"), labels(tasks[name]["test"]))

    designs = {
        "own": lambda: {name: tuned([name])[name] for name in tasks},
        "shared": lambda: tuned(list(tasks)),
        "frozen": lambda: {name: frozen(name) for name in tasks},
    }
    print(json.dumps({design: designs[design]() for design in settings["designs"]}))


main()
