"""onnxruntime in Python as a contestant: the same graphs, texts padded to the longest of a call, the encoder alone.

bench/inference/contestant.ts has its messages. `pip install onnxruntime tokenizers numpy`
"""

import json
import os
import resource
import sys
import time
from concurrent.futures import ThreadPoolExecutor

PASSAGES = 10


def say(reply):
    print(json.dumps(reply), flush=True)


# Products of small matrices are slower in several threads.
os.environ["OPENBLAS_NUM_THREADS"] = "1"
try:
    import numpy as np
    import onnxruntime
    from tokenizers import Tokenizer
except ImportError as error:
    say({"failure": f"{error.name or error} is not installed"})
    sys.exit()


class Model:
    """A folder's tokenizer and graph, and what its task makes of the outputs."""

    def __init__(self, model, threads, dtype):
        path = model["directory"]
        with open(os.path.join(path, "config.json"), encoding="utf8") as file:
            config = json.load(file)
        self.labels = [config["id2label"][str(at)] for at in range(len(config["id2label"]))]
        self.sigmoid = config.get("problem_type") == "multi_label_classification"
        self.tokenizer = Tokenizer.from_file(os.path.join(path, "tokenizer.json"))
        self.tokenizer.enable_truncation(config["orchard"]["max_tokens"])
        self.tokenizer.enable_padding(pad_id=config.get("pad_token_id", 0))
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        graph = "model.onnx" if dtype == "fp32" else "model_quantized.onnx"
        self.session = onnxruntime.InferenceSession(
            os.path.join(path, "onnx", graph), options, providers=["CPUExecutionProvider"]
        )
        self.inputs = {each.name for each in self.session.get_inputs()}

    def run(self, texts):
        encodings = self.tokenizer.encode_batch(texts)
        ids = np.array([each.ids for each in encodings], dtype=np.int64)
        mask = np.array([each.attention_mask for each in encodings], dtype=np.int64)
        feeds = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        [outputs] = self.session.run(None, {name: feeds[name] for name in self.inputs})
        return outputs, mask


class Classifier(Model):
    def answer(self, texts):
        logits, _ = self.run(texts)
        if self.sigmoid:
            scores = 1 / (1 + np.exp(-logits))
        else:
            shares = np.exp(logits - logits.max(-1, keepdims=True))
            scores = shares / shares.sum(-1, keepdims=True)
        return [dict(zip(self.labels, map(float, row))) for row in scores]

    check = answer


class Tagger(Model):
    """The best tag of each token; spans are not grouped."""

    def answer(self, texts):
        logits, mask = self.run(texts)
        tags = logits.argmax(-1)
        return [[self.labels[tag] for tag in row[bits == 1]] for row, bits in zip(tags, mask)]

    def check(self, texts):
        logits, mask = self.run(texts)
        flat = [rows[bits == 1].flatten() for rows, bits in zip(logits, mask)]
        return [{str(at): float(value) for at, value in enumerate(values)} for values in flat]


class Searcher(Model):
    def __init__(self, model, threads, dtype):
        super().__init__(model, threads, dtype)
        with open(os.path.join(model["directory"], "passages.json"), encoding="utf8") as file:
            self.passages = json.load(file)
        # A safetensors file of one matrix: the length of a header, the header, then 32-bit floats.
        with open(os.path.join(model["directory"], "passages.safetensors"), "rb") as file:
            data = file.read()
        end = 8 + int.from_bytes(data[:8], "little")
        self.vectors = np.frombuffer(data[end:], np.float32).reshape(len(self.passages), -1)

    def vectors_of(self, texts):
        states, mask = self.run(texts)
        sums = (states * mask[:, :, None]).sum(1)
        return sums / np.linalg.norm(sums, axis=-1, keepdims=True)

    def answer(self, texts):
        cosines = self.vectors_of(texts) @ self.vectors.T
        best = np.argsort(-cosines)[:, :PASSAGES]
        return [[(self.passages[at], float(row[at])) for at in order] for row, order in zip(cosines, best)]

    def check(self, texts):
        cosines = self.vectors_of(texts) @ self.vectors.T
        return [dict(zip(self.passages, map(float, row - row.max()))) for row in cosines]


LOADERS = {"text-classification": Classifier, "token-classification": Tagger, "feature-extraction": Searcher}


def run_round(models, calls, callers):
    def call(texts):
        asked = time.perf_counter()
        for model in models:
            model.answer(texts)
        return (time.perf_counter() - asked) * 1000

    used = time.process_time()
    started = time.perf_counter()
    if callers == 1:
        milliseconds = [call(texts) for texts in calls]
    else:
        with ThreadPoolExecutor(callers) as pool:
            milliseconds = list(pool.map(call, calls))
    return {
        "milliseconds": milliseconds,
        "elapsedMs": (time.perf_counter() - started) * 1000,
        "processorMs": (time.process_time() - used) * 1000,
        "stallMs": None,
        "peakMebibytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def main():
    opening = json.loads(sys.argv[1])
    models = [LOADERS[each["task"]](each, opening["threads"], opening["dtype"]) for each in opening["models"]]
    say({"ready": f"onnxruntime {onnxruntime.__version__} in Python"})
    for line in sys.stdin:
        request = json.loads(line)
        if "check" in request:
            say({"answers": models[0].check(request["check"])})
        else:
            say(run_round(models, request["calls"], request["callers"]))


main()
