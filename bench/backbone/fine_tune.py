"""Fine-tunes a BERT as a classifier in plain PyTorch: reads one JSON object of settings and rows from standard input.

Mean over the token states, one linear layer, AdamW (weight decay 0.01, not on biases and LayerNorm), linear warm-up over
a tenth of the steps and linear decay, gradients clipped to norm 1, dropout as in the checkpoint. The epoch with the best
dev accuracy is kept. Prints its accuracy on test, in percent.
"""

import json
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn
from transformers import AutoModel, AutoTokenizer

WEIGHT_DECAY = 0.01
WARMUP = 0.1
MAX_TOKENS = 256


class Classifier(nn.Module):
    def __init__(self, backbone, labels):
        super().__init__()
        self.encoder = AutoModel.from_pretrained(backbone)
        config = self.encoder.config
        self.dropout = nn.Dropout(config.hidden_dropout_prob)
        self.classifier = nn.Linear(config.hidden_size, labels)
        nn.init.normal_(self.classifier.weight, std=config.initializer_range)
        nn.init.zeros_(self.classifier.bias)

    def forward(self, batch):
        states = self.encoder(**batch).last_hidden_state
        mask = batch["attention_mask"].unsqueeze(-1).float()
        return self.classifier(self.dropout((states * mask).sum(1) / mask.sum(1)))


def parameter_groups(model):
    named = [(name, parameter) for name, parameter in model.named_parameters() if "pooler" not in name]
    without = [parameter for name, parameter in named if name.endswith("bias") or "LayerNorm" in name]
    decayed = [parameter for name, parameter in named if not (name.endswith("bias") or "LayerNorm" in name)]
    return [{"params": decayed, "weight_decay": WEIGHT_DECAY}, {"params": without, "weight_decay": 0.0}]


def main():
    task = json.load(sys.stdin)
    torch.set_num_threads(task["threads"])
    torch.manual_seed(task["seed"])
    tokenizer = AutoTokenizer.from_pretrained(task["backbone"])
    model = Classifier(task["backbone"], task["labels"])

    def encode(rows):
        texts = [text for text, _ in rows]
        batch = tokenizer(texts, padding=True, truncation=True, max_length=MAX_TOKENS, return_tensors="pt")
        return batch, torch.tensor([label for _, label in rows])

    def accuracy(rows):
        model.eval()
        right = 0
        with torch.no_grad():
            for start in range(0, len(rows), 256):
                batch, labels = encode(rows[start : start + 256])
                right += (model(batch).argmax(-1) == labels).sum().item()
        return 100 * right / len(rows)

    train, size = task["train"], task["batchSize"]
    optimizer = torch.optim.AdamW(parameter_groups(model), lr=task["learningRate"])
    steps = task["epochs"] * ((len(train) + size - 1) // size)
    warm = WARMUP * steps
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / warm, (steps - step) / (steps - warm))
    )
    best, test, started = -1.0, 0.0, time.perf_counter()
    for epoch in range(task["epochs"]):
        model.train()
        order = torch.randperm(len(train)).tolist()
        for start in range(0, len(train), size):
            batch, labels = encode([train[row] for row in order[start : start + size]])
            loss = F.cross_entropy(model(batch), labels, label_smoothing=task["labelSmoothing"])
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
        dev = accuracy(task["dev"])
        print(f"  epoch {epoch + 1}: dev {dev:.1f}", file=sys.stderr, flush=True)
        if dev > best:
            best, test = dev, accuracy(task["test"])
    seconds = time.perf_counter() - started
    print(json.dumps({"library": f"PyTorch {torch.__version__}", "dev": best, "test": test, "seconds": seconds}))


main()
