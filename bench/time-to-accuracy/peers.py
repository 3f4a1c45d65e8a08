"""Other libraries' text classifiers, one a call: `peers.py trainer|setfit|fasttext|scikit-learn`.

Reads one JSON object from standard input: labels (how many), train, dev and test rows as [text, label id], threads, seed,
for the first two a folder with a checkpoint (`weights`), and epochs, batch size, learning rate and label smoothing. Prints
one: the predicted label ids of the test texts, wall and processor seconds of training (from the rows to a model that
answers; imports are not counted) and the libraries' versions, or {"missing": package} where one isn't installed.
"""

import json
import os
import sys
import tempfile
import time

sys.path.append(os.path.join(os.path.dirname(__file__), "../peers"))
from plain_weights import plain_weights

task = json.load(sys.stdin)
os.environ.update({"TOKENIZERS_PARALLELISM": "false", "HF_HUB_OFFLINE": "1", "WANDB_DISABLED": "true"})
os.environ["OMP_NUM_THREADS"] = str(task["threads"])
ANSWER = os.dup(1)
os.dup2(2, 1)  # libraries print to standard output


def texts(split):
    return [text for text, _ in task[split]]


def labels(split):
    return [label for _, label in task[split]]


class Stopwatch:
    def __init__(self):
        self.wall, self.processor = time.perf_counter(), time.process_time()

    def read(self):
        return {
            "seconds": time.perf_counter() - self.wall,
            "processorSeconds": time.process_time() - self.processor,
        }


def trainer():
    """Hugging Face's Trainer: AutoModelForSequenceClassification, best epoch by dev accuracy."""
    import accelerate
    import torch
    import transformers
    from transformers import (
        AutoModelForSequenceClassification,
        AutoTokenizer,
        DataCollatorWithPadding,
        Trainer,
        TrainingArguments,
    )

    torch.set_num_threads(task["threads"])
    copy = tempfile.TemporaryDirectory()
    weights = plain_weights(task["weights"], copy.name)
    watch = Stopwatch()
    tokenizer = AutoTokenizer.from_pretrained(weights)

    class Rows(torch.utils.data.Dataset):
        def __init__(self, split):
            self.encodings = tokenizer(texts(split), truncation=True, max_length=256)["input_ids"]
            self.labels = labels(split)

        def __len__(self):
            return len(self.labels)

        def __getitem__(self, row):
            return {"input_ids": self.encodings[row], "labels": self.labels[row]}

    with tempfile.TemporaryDirectory() as folder:
        settings = TrainingArguments(
            output_dir=folder,
            num_train_epochs=task["epochs"],
            per_device_train_batch_size=task["batchSize"],
            per_device_eval_batch_size=64,
            learning_rate=task["learningRate"],
            label_smoothing_factor=task["labelSmoothing"],
            warmup_steps=0.1,
            weight_decay=0.01,
            eval_strategy="epoch",
            save_strategy="epoch",
            save_total_limit=1,
            load_best_model_at_end=True,
            metric_for_best_model="accuracy",
            seed=task["seed"],
            report_to=[],
            use_cpu=True,
            disable_tqdm=True,
        )
        transformers.set_seed(task["seed"])
        training = Trainer(
            model=AutoModelForSequenceClassification.from_pretrained(weights, num_labels=task["labels"]),
            args=settings,
            train_dataset=Rows("train"),
            eval_dataset=Rows("dev"),
            data_collator=DataCollatorWithPadding(tokenizer),
            compute_metrics=lambda given: {"accuracy": float((given[0].argmax(-1) == given[1]).mean())},
        )
        training.train()
        times = watch.read()
        predicted = training.predict(Rows("test")).predictions.argmax(-1).tolist()
    versions = f"transformers {transformers.__version__}, torch {torch.__version__}, accelerate {accelerate.__version__}"
    return predicted, times, versions


def setfit():
    """SetFit: contrastive pairs for a sentence encoder, then logistic regression; 20 pairs a text as in its paper."""
    import sentence_transformers
    import setfit
    import torch
    from datasets import Dataset

    torch.set_num_threads(task["threads"])
    copy = tempfile.TemporaryDirectory()
    weights = plain_weights(task["weights"], copy.name)
    watch = Stopwatch()
    encoder = sentence_transformers.SentenceTransformer(weights, device="cpu")  # mean pooling, unless the folder says else
    from sklearn.linear_model import LogisticRegression

    model = setfit.SetFitModel(model_body=encoder, model_head=LogisticRegression(max_iter=1000))
    with tempfile.TemporaryDirectory() as folder:
        settings = setfit.TrainingArguments(
            output_dir=folder,
            batch_size=task["batchSize"],
            num_epochs=1,
            num_iterations=task["pairs"],
            body_learning_rate=task["learningRate"],
            seed=task["seed"],
            report_to="none",
            save_strategy="no",
        )
        rows = Dataset.from_dict({"text": texts("train"), "label": labels("train")})
        setfit.Trainer(model=model, args=settings, train_dataset=rows).train()
        times = watch.read()
        predicted = [int(label) for label in model.predict(texts("test"), show_progress_bar=False)]
    versions = f"setfit {setfit.__version__}, sentence-transformers {sentence_transformers.__version__}, torch {torch.__version__}"
    return predicted, times, versions


def fast_text():
    """fastText's supervised classifier with word pairs, 100 dimensions, learning rate 1; 25 epochs, more on few rows."""
    import re
    from importlib.metadata import distributions

    import fasttext

    def written(text):
        return " ".join(re.findall(r"\w+|[^\w\s]", text.lower()))

    epochs = max(25, 200_000 // len(task["train"]))
    watch = Stopwatch()
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as file:
        file.writelines(f"__label__{label} {written(text)}\n" for text, label in task["train"])
        file.flush()
        model = fasttext.train_supervised(
            file.name, lr=1.0, epoch=epochs, wordNgrams=2, dim=100, thread=task["threads"], seed=task["seed"], verbose=0
        )
    times = watch.read()
    answers = model.f.multilinePredict([f"{written(text)}\n" for text in texts("test")], 1, 0.0, "strict")[0]
    predicted = [int(names[0].removeprefix("__label__")) if names else -1 for names in answers]
    found = [each for each in distributions() if (each.metadata["Name"] or "").lower().startswith("fasttext")]
    task["settings"] = f"{epochs} epochs"
    return predicted, times, ", ".join(f"{each.metadata['Name']} {each.version}" for each in found)


def scikit_learn():
    """TF-IDF over words and pairs of words, and over 2 to 5 characters, with a linear SVM."""
    import sklearn
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_pipeline, make_union
    from sklearn.svm import LinearSVC

    watch = Stopwatch()
    words = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, token_pattern=r"(?u)\b\w+\b|[!?$%]")
    characters = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 5), sublinear_tf=True)
    model = make_pipeline(make_union(words, characters), LinearSVC(C=0.5))
    model.fit(texts("train"), labels("train"))
    times = watch.read()
    return model.predict(texts("test")).tolist(), times, f"scikit-learn {sklearn.__version__}"


def main():
    kinds = {"trainer": trainer, "setfit": setfit, "fasttext": fast_text, "scikit-learn": scikit_learn}
    try:
        predicted, times, versions = kinds[sys.argv[1]]()
        answer = {"predicted": predicted, **times, "versions": versions, "settings": task.get("settings", "")}
    except ModuleNotFoundError as error:
        answer = {"missing": error.name}
    with os.fdopen(ANSWER, "w") as out:
        json.dump(answer, out)


main()
