"""Writes small random encoders of every architecture, and what transformers computes with them.

Usage: python3 random_encoders.py FOLDER [--size tiny|small] [--seed N]

Each encoder is a folder in FOLDER: config.json and model.safetensors as `save_pretrained` leaves them, expected.json (the
batch, and which versions wrote it) and expected.safetensors: `states` of the tokens that aren't padding, text by text, the
`logits` of a linear layer (`head.weight`, `head.bias`) on their mean, and the gradient of the cross-entropy loss by every
weight (`gradient:` and its name). Dropout is off. Nothing is fetched from anywhere.
"""

import argparse
import json
import os
import sys

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"
os.environ["TQDM_DISABLE"] = "1"

LABELS = 3

SIZES = {
    # Fixtures of `npm test`: a few kB each.
    "tiny": {"hidden": 8, "heads": 2, "inner": 12, "layers": 2, "vocabulary": 24, "positions": 16, "buckets": 4,
             "lengths": [9, 6, 2]},
    "small": {"hidden": 64, "heads": 4, "inner": 96, "layers": 4, "vocabulary": 200, "positions": 128, "buckets": 16,
              "lengths": [80, 51, 7, 1]},
}


def bert_like(size, **fields):
    return {"vocab_size": size["vocabulary"], "hidden_size": size["hidden"], "num_hidden_layers": size["layers"],
            "num_attention_heads": size["heads"], "intermediate_size": size["inner"],
            "max_position_embeddings": size["positions"], "pad_token_id": 0, "bos_token_id": None, "eos_token_id": None,
            **fields}


def roberta_like(size, **fields):
    positions = size["positions"] + 2
    return bert_like(size, pad_token_id=1, max_position_embeddings=positions, type_vocab_size=1, layer_norm_eps=1e-5,
                     **fields)


def deberta_like(size, **fields):
    return bert_like(size, **{"relative_attention": True, "position_buckets": size["buckets"], "max_relative_positions": -1,
                              "norm_rel_ebd": "layer_norm", "share_att_key": True, "pos_att_type": ["p2c", "c2p"],
                              "position_biased_input": False, "type_vocab_size": 0, "layer_norm_eps": 1e-7, **fields})


def modernbert_like(size, **fields):
    return bert_like(size, **{"num_hidden_layers": size["layers"] + 2, "local_attention": size["buckets"],
                              "global_attn_every_n_layers": 3, "cls_token_id": None, "sep_token_id": None, **fields})


def encoders(size):
    """Model type and fields of the config.json of each encoder, by the name of its folder."""
    half = size["hidden"] // 2
    return {
        "bert": ("bert", bert_like(size)),
        "roberta": ("roberta", roberta_like(size)),
        "xlm-roberta": ("xlm-roberta", roberta_like(size)),
        "camembert": ("camembert", roberta_like(size)),
        "distilbert": ("distilbert", {
            "vocab_size": size["vocabulary"], "dim": size["hidden"], "n_layers": size["layers"], "n_heads": size["heads"],
            "hidden_dim": size["inner"], "max_position_embeddings": size["positions"], "pad_token_id": 0}),
        "electra": ("electra", bert_like(size, embedding_size=size["hidden"])),
        "electra-small": ("electra", bert_like(size, embedding_size=half)),
        "mpnet": ("mpnet", bert_like(size, pad_token_id=1, max_position_embeddings=size["positions"] + 2)),
        "albert": ("albert", bert_like(size, embedding_size=half, num_hidden_groups=1, hidden_act="gelu_new")),
        "deberta-v2": ("deberta-v2", deberta_like(
            size, share_att_key=False, pos_att_type=["c2p"], position_biased_input=True, type_vocab_size=2,
            position_buckets=-1, max_relative_positions=size["buckets"], norm_rel_ebd="none", embedding_size=half)),
        "deberta-v3": ("deberta-v2", deberta_like(size)),
        "deberta-v3-own-keys": ("deberta-v2", deberta_like(size, share_att_key=False)),
        "modernbert": ("modernbert", modernbert_like(size)),
        "modernbert-biases": ("modernbert", modernbert_like(size, attention_bias=True, mlp_bias=True, norm_bias=True)),
    }


# Of a tiny size only those that compute something of their own.
ONLY_SMALL = {"deberta-v3-own-keys", "modernbert-biases"}


def random_model(model_type, fields, seed, auto="AutoModel"):
    import torch
    import transformers

    torch.manual_seed(seed)
    config = transformers.AutoConfig.for_model(model_type, **fields)
    model = getattr(transformers, auto).from_config(config, attn_implementation="eager").eval()
    with torch.no_grad():
        for parameter in model.parameters():
            # Large enough that every path of the encoder matters; what starts as 1 or 0 becomes something else.
            scale = 0.2 if parameter.dim() == 1 else 0.5 / parameter.shape[-1] ** 0.25
            base = parameter if parameter.dim() == 1 else 0
            parameter.copy_(base + scale * torch.randn_like(parameter))
    return model


def random_batch(model, size, seed):
    """Ids, mask and types [texts, tokens], padded to the longest."""
    import torch

    generator = torch.Generator().manual_seed(seed)
    config = model.config
    lengths = size["lengths"]
    shape = (len(lengths), max(lengths))
    mask = torch.tensor([[int(at < length) for at in range(shape[1])] for length in lengths])
    ids = torch.randint(3, size["vocabulary"], shape, generator=generator)
    ids = torch.where(mask == 1, ids, torch.tensor(config.pad_token_id))
    kinds = getattr(config, "type_vocab_size", 0) or 1
    types = torch.randint(0, kinds, shape, generator=generator) * mask
    return ids, mask, types


def forward(model, ids, mask, types):
    import inspect

    inputs = {"input_ids": ids, "attention_mask": mask}
    if "token_type_ids" in inspect.signature(model.forward).parameters:
        inputs["token_type_ids"] = types
    return model(**inputs).last_hidden_state


def expected(model, ids, mask, types, seed):
    """The tensors of expected.safetensors, and the labels."""
    import torch

    generator = torch.Generator().manual_seed(seed)
    states = forward(model, ids, mask, types)
    weight = torch.randn((LABELS, states.shape[-1]), generator=generator)
    bias = torch.randn((LABELS,), generator=generator)
    weight.requires_grad_(), bias.requires_grad_()
    share = mask.unsqueeze(-1).float()
    logits = ((states * share).sum(1) / share.sum(1)) @ weight.T + bias
    labels = torch.arange(len(ids)) % LABELS
    torch.nn.functional.cross_entropy(logits, labels).backward()
    tensors = {"states": states[mask.bool()], "logits": logits, "head.weight": weight, "head.bias": bias,
               "gradient:head.weight": weight.grad, "gradient:head.bias": bias.grad}
    for name, parameter in model.named_parameters():
        # Without a gradient: a pooler, which a mean doesn't read.
        if parameter.grad is not None:
            tensors[f"gradient:{name}"] = parameter.grad
    return {name: tensor.detach().contiguous().float() for name, tensor in tensors.items()}, labels


def write(folder, name, model_type, fields, size, seed):
    import torch
    import transformers
    from safetensors.torch import save_file

    model = random_model(model_type, fields, seed)
    ids, mask, types = random_batch(model, size, seed + 1)
    tensors, labels = expected(model, ids, mask, types, seed + 2)
    path = os.path.join(folder, name)
    model.save_pretrained(path)
    save_file(tensors, os.path.join(path, "expected.safetensors"))
    lengths = size["lengths"]
    rows = lambda values: [row[:length].tolist() for row, length in zip(values, lengths)]
    summary = {"writtenBy": f"transformers {transformers.__version__}, torch {torch.__version__}",
               "ids": rows(ids), "typeIds": rows(types), "labels": labels.tolist()}
    with open(os.path.join(path, "expected.json"), "w") as file:
        file.write(json.dumps(summary) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("--size", choices=SIZES, default="small")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    size = SIZES[options.size]
    for at, (name, (model_type, fields)) in enumerate(encoders(size).items()):
        if options.size == "tiny" and name in ONLY_SMALL:
            continue
        try:
            write(options.folder, name, model_type, fields, size, options.seed + 10 * at)
            print(name, flush=True)
        except Exception as error:
            print(f"{name}: {type(error).__name__}: {error}"[:500], file=sys.stderr, flush=True)
            sys.exit(1)


if __name__ == "__main__":
    main()
