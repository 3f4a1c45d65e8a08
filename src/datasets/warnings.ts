/**
 * What a job may warn about. No warning stops a training. Registered families may have kinds of their own.
 */
export type DatasetWarningKind =
  | 'duplicate_row'
  | 'conflicting_labels'
  | 'train_row_in_dev'
  | 'class_without_examples'
  | 'passage_without_question'
  | 'unknown_field'
  | 'empty_sentence'
  | 'inside_without_begin'
  | 'truncated_text'
  | 'no_backbone'
  | 'backbone_lowercase'
  | 'float32_kept'
  | 'device'
  | (string & Record<never, never>);

/** A line of a file of the dataset. */
export interface DatasetLocation {
  /** Path inside the archive. */
  readonly file: string;
  /** Counted from 1. */
  readonly line: number;
}

/** Something worth knowing about a dataset, which can be trained on all the same. */
export interface DatasetWarning {
  readonly kind: DatasetWarningKind;
  /** How many rows (or classes) it concerns. */
  readonly count: number;
  /** What was noticed, in a sentence. */
  readonly message: string;
  /** The first places concerned, at most {@link MAX_WARNING_EXAMPLES}. */
  readonly examples: readonly DatasetLocation[];
}

/** How many places a warning names. */
export const MAX_WARNING_EXAMPLES = 5;

/** One warning about all these places; none if there are no places. */
export function warnAbout(
  kind: DatasetWarningKind,
  places: readonly DatasetLocation[],
  message: string,
): readonly DatasetWarning[] {
  if (places.length === 0) return [];
  const examples = places.slice(0, MAX_WARNING_EXAMPLES).map(({ file, line }) => ({ file, line }));
  return [{ kind, count: places.length, message, examples }];
}
