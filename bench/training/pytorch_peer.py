"""The same training step in plain PyTorch: pytorch_peer.py <configuration as JSON> <threads> <fp32|bf16|compile>.

Prints JSON lines; see peer.ts for the conversation.
"""

import contextlib
import json
import math
import resource
import sys
import time

try:
    import torch
    import torch.nn.functional as F
    from torch import nn
except ImportError:
    print(json.dumps({"failure": f"PyTorch is not installed for {sys.executable.rsplit('/', 1)[-1]}"}), flush=True)
    sys.exit(0)

DROPOUT = 0.1
CLASSES = 4
HAS_FUSED_ATTENTION = hasattr(F, "scaled_dot_product_attention")


class Layer(nn.Module):
    """A BERT layer: attention and feed-forward, each added and normalized after."""

    def __init__(self, hidden, heads):
        super().__init__()
        self.heads = heads
        self.projections = nn.Linear(hidden, 3 * hidden)
        self.output = nn.Linear(hidden, hidden)
        self.norm1 = nn.LayerNorm(hidden, eps=1e-12)
        self.inner = nn.Linear(hidden, 4 * hidden)
        self.outer = nn.Linear(4 * hidden, hidden)
        self.norm2 = nn.LayerNorm(hidden, eps=1e-12)
        self.dropout = nn.Dropout(DROPOUT)

    def forward(self, x, bias):
        batch, tokens, hidden = x.shape
        split = self.projections(x).view(batch, tokens, 3, self.heads, hidden // self.heads)
        q, k, v = split.permute(2, 0, 3, 1, 4)
        if HAS_FUSED_ATTENTION:
            probability = DROPOUT if self.training else 0.0
            mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=bias.to(q.dtype), dropout_p=probability)
        else:
            scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1]) + bias
            mixed = self.dropout(scores.softmax(-1)) @ v
        mixed = mixed.transpose(1, 2).reshape(batch, tokens, hidden)
        x = self.norm1(x + self.dropout(self.output(mixed)))
        return self.norm2(x + self.dropout(self.outer(F.gelu(self.inner(x)))))


class Classifier(nn.Module):
    """Embeddings, layers, the mean over tokens and a linear layer."""

    def __init__(self, c):
        super().__init__()
        hidden = c["hidden"]
        self.words = nn.Embedding(c["vocabulary"], hidden)
        self.positions = nn.Embedding(128, hidden)
        self.types = nn.Embedding(2, hidden)
        self.norm = nn.LayerNorm(hidden, eps=1e-12)
        self.layers = nn.ModuleList([Layer(hidden, c["heads"]) for _ in range(c["layers"])])
        self.dropout = nn.Dropout(DROPOUT)
        self.classifier = nn.Linear(hidden, CLASSES)
        for module in self.modules():
            if isinstance(module, (nn.Linear, nn.Embedding)):
                nn.init.normal_(module.weight, std=0.02)

    def forward(self, ids, types, bias, share):
        x = self.words(ids) + self.positions.weight[: ids.shape[1]] + self.types(types)
        x = self.dropout(self.norm(x))
        for layer in self.layers:
            x = layer(x, bias)
        return self.classifier(self.dropout((x * share).sum(1)))


def adamw(parameters):
    for options in ({"fused": True}, {"foreach": True}, {}):
        try:
            return torch.optim.AdamW(parameters, lr=1e-4, weight_decay=0.01, **options)
        except (TypeError, RuntimeError):
            continue
    raise RuntimeError("no AdamW")


def main():
    c, threads, mode = json.loads(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    model = Classifier(c)
    optimizer = adamw(model.parameters())
    batch, tokens = c["batch"], c["tokens"]
    ids = torch.randint(0, c["vocabulary"], (batch, tokens))
    types = torch.zeros(batch, tokens, dtype=torch.long)
    lengths = torch.tensor([tokens - (row % 4) * (tokens // 8) for row in range(batch)])
    valid = torch.arange(tokens)[None] < lengths[:, None]
    bias = torch.zeros(batch, 1, 1, tokens).masked_fill(~valid[:, None, None, :], -1e9)
    share = (valid.float() / lengths[:, None])[:, :, None]
    labels = torch.arange(batch) % CLASSES
    forward = torch.compile(model) if mode == "compile" else model

    def step():
        optimizer.zero_grad(set_to_none=True)
        cast = torch.autocast("cpu", dtype=torch.bfloat16) if mode == "bf16" else contextlib.nullcontext()
        with cast:
            loss = F.cross_entropy(forward(ids, types, bias, share), labels)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss

    try:
        step()
    except Exception as error:  # a mode that this installation lacks, a compiler for one
        print(json.dumps({"failure": f"{mode}: {str(error).splitlines()[0][:200]}"}), flush=True)
        return
    print(json.dumps({"ready": f"PyTorch {torch.__version__} {mode}"}), flush=True)
    for line in sys.stdin:
        milliseconds = []
        for _ in range(int(line)):
            started = time.perf_counter()
            loss = step().item()
            milliseconds.append(1000 * (time.perf_counter() - started))
        print(json.dumps({"milliseconds": milliseconds, "loss": loss}), flush=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"peakMebibytes": peak}), flush=True)


main()
