/** How well a model does on examples that it was not trained on, as plain data. */
import type { ClassFigures, Confusion, Mistake } from '../../model-folder/index.js';

/** Precision, recall and F1 over several classes, 0 to 1; 0 where there is nothing to divide by. */
export interface AverageFigures {
  readonly precision: number;
  readonly recall: number;
  readonly f1: number;
  /** How many labels, or entities, the examples have. */
  readonly support: number;
}

/** Lowest and highest value: a figure is between them in 95 of 100 samples like this one, by bootstrap. */
export type Interval = readonly [low: number, high: number];

/** Averages over classes, named as in scikit-learn's and seqeval's reports. */
interface Averages {
  /** Of all decisions together. */
  readonly micro: AverageFigures;
  /** Every class counts the same. */
  readonly macro: AverageFigures;
  /** Classes count by their support. */
  readonly weighted: AverageFigures;
}

/** Of a classifier, as scikit-learn's `classification_report` has it. */
export interface LabelEvaluation extends Averages {
  readonly kind: 'labels';
  /** How many examples. */
  readonly rows: number;
  /** Share of the examples that are right, 0 to 1; a multilabel one is if all its labels are. */
  readonly accuracy: number;
  /** Multilabel: the mean over examples. */
  readonly samples?: AverageFigures;
  /** Each label that occurs in the examples or the answers; of a multilabel model, every label. */
  readonly classes: readonly ClassFigures[];
  /** Unless examples may have several labels. */
  readonly confusion?: Confusion;
  /** Expected calibration error of the scores: how far they are from the share that is right; 0 is perfect. */
  readonly calibrationError: number;
  /** 95 % intervals. */
  readonly intervals: {
    readonly accuracy: Interval;
    readonly microF1: Interval;
    readonly macroF1: Interval;
    readonly weightedF1: Interval;
  };
  /** The 50 that the model was surest of. */
  readonly mistakes: readonly Mistake[];
}

/** Of a model of entities, as seqeval's report has it: an entity is right if place and type are. */
export interface EntityEvaluation extends Averages {
  readonly kind: 'entities';
  /** How many examples. */
  readonly rows: number;
  /** Each type of entity that occurs in the examples or the answers. */
  readonly classes: readonly ClassFigures[];
  /** 95 % intervals. */
  readonly intervals: {
    readonly microF1: Interval;
    readonly macroF1: Interval;
    readonly weightedF1: Interval;
  };
  /** The 50 that the model was surest of. */
  readonly mistakes: readonly Mistake[];
}

/** Of a model that ranks passages: where among its ten best a passage stands that answers the question. */
export interface PassageEvaluation {
  readonly kind: 'passages';
  /** How many different questions. */
  readonly rows: number;
  /** Share of the questions with a right passage in the first place. */
  readonly top1: number;
  readonly top3: number;
  readonly top5: number;
  readonly top10: number;
  /** Mean of 1 / rank of the first right passage; 0 beyond the tenth. */
  readonly mrr: number;
  /** Normalised discounted cumulative gain of the first ten (Järvelin & Kekäläinen 2002), right passages counting 1. */
  readonly ndcg: number;
  /** 95 % intervals. */
  readonly intervals: {
    readonly top1: Interval;
    readonly mrr: Interval;
    readonly ndcg: Interval;
  };
  /** The 50 that the model was surest of. */
  readonly mistakes: readonly Mistake[];
}

/** How well a model does; `kind` says which figures there are. */
export type Evaluation = LabelEvaluation | EntityEvaluation | PassageEvaluation;
