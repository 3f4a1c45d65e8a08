"""Writes one small checkpoint of random weights for each model type that can be a backbone: <folder of a BERT> <target>.
Not of MPNet, whose padding token has the id 1, which it hasn't in a BERT's tokenizer.

The tokenizer is that of the given folder. Prints the folders as a JSON list.
"""

import json
import os
import shutil
import sys

import torch
from transformers import AutoConfig, AutoModel

SIZE = {"hidden_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 96}
POSITIONS = 512
TYPES = {
    "bert": {**SIZE, "max_position_embeddings": POSITIONS},
    "roberta": {**SIZE, "max_position_embeddings": POSITIONS + 2, "type_vocab_size": 1},
    "xlm-roberta": {**SIZE, "max_position_embeddings": POSITIONS + 2, "type_vocab_size": 1},
    "camembert": {**SIZE, "max_position_embeddings": POSITIONS + 2, "type_vocab_size": 1},
    "electra": {**SIZE, "embedding_size": 24, "max_position_embeddings": POSITIONS},
    "albert": {**SIZE, "embedding_size": 24, "max_position_embeddings": POSITIONS},
    "deberta-v2": {**SIZE, "max_position_embeddings": POSITIONS, "relative_attention": True, "position_buckets": 16,
                   "norm_rel_ebd": "layer_norm", "share_att_key": True, "pos_att_type": ["p2c", "c2p"],
                   "position_biased_input": False, "type_vocab_size": 0},
    "modernbert": {**SIZE, "num_hidden_layers": 3, "max_position_embeddings": POSITIONS, "local_attention": 16,
                   **{f"{token}_token_id": None for token in ("bos", "eos", "cls", "sep")}},
    "distilbert": {"dim": 48, "n_layers": 2, "n_heads": 4, "hidden_dim": 96, "max_position_embeddings": POSITIONS},
}
TOKENIZER_FILES = ["tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt"]


def main():
    source, target = sys.argv[1:]
    with open(os.path.join(source, "config.json")) as file:
        vocabulary = json.load(file)["vocab_size"]
    folders = []
    for name, fields in TYPES.items():
        torch.manual_seed(len(folders))
        config = AutoConfig.for_model(name, vocab_size=vocabulary, pad_token_id=0, **fields)
        model = AutoModel.from_config(config).eval()
        with torch.no_grad():
            for parameter in model.parameters():  # no bias of 0 and no LayerNorm of 1: all must be read
                parameter.add_(torch.randn_like(parameter) * 0.1)
        folder = os.path.join(target, name)
        model.save_pretrained(folder)
        for file in TOKENIZER_FILES:
            if os.path.exists(os.path.join(source, file)):
                shutil.copy(os.path.join(source, file), folder)
        folders.append(folder)
    print(json.dumps(folders))


main()
