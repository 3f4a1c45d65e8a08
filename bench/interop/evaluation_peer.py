"""Reports of scikit-learn and seqeval on truths and answers that come as JSON, as JSON."""
import json
import sys
import warnings
from importlib.metadata import version

from seqeval.metrics import classification_report as entity_report
from sklearn.metrics import accuracy_score, classification_report, confusion_matrix
from sklearn.preprocessing import MultiLabelBinarizer

warnings.filterwarnings("ignore")


def plain(report):
    """Numbers of NumPy as numbers of JSON."""
    if isinstance(report, dict):
        return {name: plain(value) for name, value in report.items()}
    return float(report)


cases = json.load(sys.stdin)
labels, multilabel, entities = cases["labels"], cases["multilabel"], cases["entities"]
binarizer = MultiLabelBinarizer(classes=multilabel["names"])
truth = binarizer.fit_transform(multilabel["actual"])
answers = binarizer.transform(multilabel["predicted"])
names = sorted(set(labels["actual"]) | set(labels["predicted"]))
report = {
    "versions": {name: version(name) for name in ("scikit-learn", "seqeval")},
    "labels": {
        "report": plain(classification_report(labels["actual"], labels["predicted"], output_dict=True)),
        "accuracy": accuracy_score(labels["actual"], labels["predicted"]),
        "names": names,
        "confusion": confusion_matrix(labels["actual"], labels["predicted"], labels=names).tolist(),
    },
    "multilabel": {
        "report": plain(
            classification_report(truth, answers, target_names=multilabel["names"], output_dict=True)
        ),
        "accuracy": accuracy_score(truth, answers),
    },
    "entities": {"report": plain(entity_report(entities["actual"], entities["predicted"], output_dict=True))},
}
json.dump(report, sys.stdout, indent=1)
