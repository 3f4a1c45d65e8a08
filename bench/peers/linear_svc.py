"""scikit-learn's classic text classifier: TF-IDF over word and character n-grams and a linear SVM.

Reads one JSON object from standard input: train and test texts, their label ids (lists, one id unless multilabel),
which n-grams to use. Prints one: predicted label ids of each test text, and the seconds that training took.
"""

import json
import sys
import time

import sklearn
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_union
from sklearn.preprocessing import MultiLabelBinarizer
from sklearn.svm import LinearSVC


def vectorizer(n_grams):
    parts = []
    if n_grams["words"]:
        longest = 3 if n_grams.get("triples") else 2
        parts.append(TfidfVectorizer(ngram_range=(1, longest), sublinear_tf=True, token_pattern=r"(?u)\b\w+\b|[!?$%]"))
    characters = n_grams["characters"]
    if characters:
        lengths = (characters["shortest"], characters["longest"])
        parts.append(TfidfVectorizer(analyzer="char_wb", ngram_range=lengths, sublinear_tf=True))
    return make_union(*parts)


def main():
    task = json.load(sys.stdin)
    started = time.perf_counter()
    features = vectorizer(task["n_grams"])
    rows = features.fit_transform(task["train"])
    model = LinearSVC(C=0.5)
    if task["multilabel"]:
        binarizer = MultiLabelBinarizer(classes=list(range(task["labels"])))
        model = OneVsRestClassifier(model).fit(rows, binarizer.fit_transform(task["train_ids"]))
        seconds = time.perf_counter() - started
        predicted = binarizer.inverse_transform(model.predict(features.transform(task["test"])))
    else:
        model.fit(rows, [ids[0] for ids in task["train_ids"]])
        seconds = time.perf_counter() - started
        predicted = [[int(label)] for label in model.predict(features.transform(task["test"]))]
    result = {"predicted": [[int(label) for label in ids] for ids in predicted], "seconds": seconds}
    json.dump({**result, "version": sklearn.__version__}, sys.stdout)


main()
