import * as z from 'zod';
import { validate } from '../../contract/index.js';
import { AbortedError } from '../../errors.js';
import { withPauses } from '../../pauses.js';
import type { Answer } from '../answers.js';
import type { Model } from '../model.js';
import { MULTILABEL } from '../multilabel.js';
import { type Columns, columnsSchema, type RowsOrPath, readRows } from '../rows/index.js';
import type { Evaluation } from './evaluation.js';
import { examplesFor } from './examples.js';
import { judge } from './judge.js';

/** How examples are read, and intervals taken. */
export interface EvaluateOptions {
  /** What a file's columns are called. Default: as the fields of rows. */
  readonly columns?: Columns | undefined;
  /** How often the examples are drawn again for the 95 % intervals, 100 to 100,000. Default 1,000. */
  readonly resamples?: number | undefined;
  /** Decides the draws. Default 0. */
  readonly seed?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

const optionsSchema = z.strictObject({
  columns: columnsSchema.optional(),
  resamples: z.int().min(100).max(100_000).default(1000),
  seed: z.int32().default(0),
  signal: z.instanceof(AbortSignal).optional(),
});

/** @throws ValidationError, DatasetError, AbortedError, and what asking the model can fail with */
export async function evaluateModel(
  model: Model,
  rows: RowsOrPath,
  options: EvaluateOptions,
): Promise<Evaluation> {
  const { columns, signal, ...bootstrap } = validate(optionsSchema, options ?? {});
  const isMultilabel = model.type === MULTILABEL;
  const { checked, origin } = await readRows(rows, { option: 'rows', columns, isMultilabel, signal });
  const examples = examplesFor(model, checked, origin);
  const answers = await answersTo(
    model,
    examples.map(({ text }) => text),
    signal,
  );
  return withPauses(judge(model, examples, answers, bootstrap), signal);
}

/** A model's answers to texts, in their order. @throws what asking the model can fail with, AbortedError */
export async function answersTo(
  model: Model,
  texts: readonly string[],
  signal: AbortSignal | undefined,
): Promise<readonly Answer[]> {
  const answers = await model.predict(texts, { signal });
  if (answers.isOk()) return answers.value;
  if (signal?.aborted) throw new AbortedError(`evaluating ${model.name}`, { cause: signal.reason });
  throw answers.error;
}
