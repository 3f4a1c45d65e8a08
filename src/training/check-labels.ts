import type { DatasetWarning } from '../datasets/index.js';
import { statesOf, withoutEnd } from '../engine/index.js';
import type { TrainingTask } from '../families/index.js';
import { Random, withPauses } from '../system/index.js';
import type { TextReader, TextWindow } from '../text/index.js';
import type { Backbone } from './backbone.js';
import { frozenWeights } from './frozen-backbone.js';
import type { LoopInput } from './training-loop.js';

/** Of more rows, some are drawn: a warning needs no more, and `checkData` judges all. */
const MOST_ROWS = 1000;

interface LabelCheck extends Pick<LoopInput, 'encoder' | 'executor' | 'hyperparameters' | 'seed' | 'signal'> {
  /** Before copies of rows are added. */
  readonly task: TrainingTask;
  readonly backbone: Backbone | undefined;
  readonly reader: TextReader;
}

/**
 * Warns about labels that are probably wrong, before an encoder is trained: by one division into folds, over the backbone's
 * states as they are. Nothing without a backbone, or if labels aren't what the task learns.
 * @throws AbortedError soon after the signal fires
 */
export async function labelWarnings(input: LabelCheck): Promise<readonly DatasetWarning[]> {
  const { task, encoder, executor, backbone, reader, hyperparameters, seed, signal } = input;
  const { fewRows, head } = task;
  const end = head.kind === 'rows' ? head.linearEnd?.(encoder) : undefined;
  // Pairs take vectors of both texts: checkData checks them.
  if (
    fewRows?.checkLabels === undefined ||
    fewRows.readsPairs ||
    backbone === undefined ||
    head.kind !== 'rows' ||
    end === undefined
  )
    return [];
  const rows = [...Array(fewRows.trainRows).keys()];
  const at = fewRows.examples(Random.fromSeed(seed, 2).shuffle(rows).slice(0, MOST_ROWS));
  const texts = at.map((row) => fewRows.texts[row] ?? '');
  const windows: readonly TextWindow[] = await withPauses(reader.reading(texts), signal);
  const bare = withoutEnd(head, end);
  const fixed = frozenWeights(bare.parameters(encoder), backbone);
  const read = await statesOf(windows, { executor, head: bare, encoder, fixed, signal });
  const states = new Map(at.map((row, place) => [row, fewRows.statesOf(row, read[place] ?? [])]));
  const options = { ...hyperparameters, balanced: true, executor, seed, signal, repeats: 1 };
  const { warnings } = await fewRows.checkLabels(
    fewRows.texts.map((_, row) => states.get(row)),
    options,
  );
  return warnings;
}
