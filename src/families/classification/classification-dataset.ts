import type { ModelType } from '../../contract/index.js';
import type { DatasetLocation, DatasetWarning } from '../../datasets/index.js';
import { joinParts } from '../../text/index.js';

/** binary: one of two labels; multiclass: one of n ≥ 2; multilabel: zero or more of n ≥ 1. */
export type ClassificationKind = 'binary' | 'multiclass' | 'multilabel';

/** The model types of this family. */
export const classificationTypes = [
  'binary-text-classification',
  'multiclass-text-classification',
  'multilabel-text-classification',
] as const;
export type ClassificationType = (typeof classificationTypes)[number];

const kinds: Readonly<Record<ClassificationType, ClassificationKind>> = {
  'binary-text-classification': 'binary',
  'multiclass-text-classification': 'multiclass',
  'multilabel-text-classification': 'multilabel',
};

/** @throws TypeError for a model type of another family. */
export function classificationKind(type: ModelType): ClassificationKind {
  const known = classificationTypes.find((each) => each === type);
  if (known === undefined) throw new TypeError(`${type} is not a text classification type`);
  return kinds[known];
}

/** How far from 1 the sum of a row's probabilities may be. */
export const SUM_TOLERANCE = 1e-3;

export interface LabelledText {
  readonly text: string;
  /** Of a pair. */
  readonly text2?: string;
  /** The most probable one, if the row has `shares`; of a multilabel row, those that are at least as probable as not. */
  readonly labelIds: readonly number[];
  /** How probable each label is, where that isn't certain. They add up to 1 unless the model is multilabel. [labels] */
  readonly shares?: readonly number[];
  /** How many times the row counts in training, above 0. Default 1. */
  readonly weight?: number;
  /** Of the file it was read from, or its position, counted from 1. */
  readonly line?: number;
}

/** A row of a dataset and the line it was read from. */
export interface LocatedRow extends Omit<LabelledText, 'line'>, DatasetLocation {}

export interface ClassificationDataset {
  readonly kind: ClassificationKind;
  readonly labels: readonly string[];
  /** The one of two labels whose F1 is reported. Default: of a binary model the second; otherwise the mean over all is. */
  readonly positive?: string | undefined;
  /** What labels mean, in words, by label. Default: what their names say. */
  readonly descriptions?: Readonly<Record<string, string>>;
  readonly train: readonly LabelledText[];
  readonly dev: readonly LabelledText[];
  /** Whether rows have two texts. Default false. */
  readonly arePairs?: boolean;
  /** What the rows were read from, for warnings. */
  readonly files?: { readonly train: string; readonly dev: string };
  /** Whether they were drawn from the rows because none were given. */
  readonly isDevDrawn?: boolean;
  readonly warnings: readonly DatasetWarning[];
}

/** The text of a row as tokenizer and lexical expert read it. */
export function joinedText({ text, text2 }: Pick<LabelledText, 'text' | 'text2'>): string {
  return text2 === undefined ? text : joinParts(text, text2);
}

/** `sigmoid`: each logit is a yes or no of its own, in a multilabel model and in a binary one with its single logit. */
export type Link = 'softmax' | 'sigmoid';

export function linkOf(kind: ClassificationKind): Link {
  return kind === 'multiclass' ? 'softmax' : 'sigmoid';
}

/** The label whose F1 is reported; undefined where the mean over all labels is. */
export function positiveLabel({
  kind,
  labels,
  positive,
}: Pick<ClassificationDataset, 'kind' | 'labels' | 'positive'>): string | undefined {
  return positive ?? (kind === 'binary' ? labels[1] : undefined);
}

/** A label's name as words: `card_arrival` is "card arrival". Undefined if it has none. */
export function nameAsWords(label: string): string | undefined {
  const words = label
    .replaceAll(/(\p{Lower})(\p{Upper})/gu, '$1 $2')
    .replaceAll(/[\s_./:-]+/gu, ' ')
    .trim();
  return /\p{Letter}{2}/u.test(words) ? words : undefined;
}
