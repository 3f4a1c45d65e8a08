import { spawnSync } from 'node:child_process';
import { mkdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as z from 'zod';
import { exportModel, train } from '../../src/api/index.js';
import { orThrow } from '../../src/contract/index.js';
import type { Rows } from '../../src/datasets/index.js';
import { softmax } from '../../src/families/index.js';
import { CONFIG_FILE } from '../../src/models/index.js';
import {
  type CheckpointDifference,
  compareCheckpoint,
  type PipelineAnswers,
  pipelineAnswersSchema,
} from '../../test/support/checkpoint-oracle.js';
import { graphResults } from './architecture-models.js';

const SCRIPT = fileURLToPath(new URL('checkpoints.py', import.meta.url));
/** Largest difference between scores that count as equal. */
const TOLERANCE = 1e-5;

const answerSchema = z.union([pipelineAnswersSchema, z.strictObject({ failure: z.string() })]);

export interface CheckpointRow {
  readonly class: string;
  readonly compared: number;
  readonly 'largest difference': string;
  readonly others: string;
  readonly equal: boolean;
}

/**
 * Has Python write small random checkpoints of every architecture with both heads, and compares our answers to what
 * transformers' pipelines give. Then trains on from each with its head, and compares the scores of what is exported.
 * @param folder where they are written.
 * @returns a row for each by its name, or the reason as text if Python writes none.
 */
export async function compareCheckpoints(
  folder: string,
  python: string,
): Promise<Record<string, CheckpointRow> | string> {
  await mkdir(folder, { recursive: true });
  const written = runPython(python, ['write', folder]);
  if ('failure' in written) return written.failure;
  // Converted checkpoints are kept here, too.
  process.env.ORCHARD_MODELS_DIRECTORY = join(folder, 'models');
  const rows: Record<string, CheckpointRow> = {};
  const paths = written.lines.map((name) => join(folder, name));
  const asked = askPython(python, paths);
  if (typeof asked === 'string') return asked;
  for (const [at, name] of written.lines.entries()) {
    const theirs = asked[at] ?? { failure: 'Python stopped before' };
    rows[name] = await rowOf(paths[at] ?? '', theirs);
  }
  const trained: string[] = [];
  for (const [at, name] of written.lines.entries()) {
    if (/-(?:text|tokens)$/u.test(name))
      trained.push(await trainFurther(paths[at] ?? '', join(folder, `${name}-trained`)));
  }
  const ofTrained = askPython(python, trained);
  if (typeof ofTrained === 'string') return ofTrained;
  for (const [at, path] of trained.entries()) {
    const theirs = ofTrained[at] ?? { failure: 'Python stopped before' };
    rows[basename(path)] = 'failure' in theirs ? unequal(theirs.failure) : await trainedRow(path, theirs);
  }
  return rows;
}

const verdicts = ['negative', 'neutral', 'positive'] as const;
const labelled = Array.from({ length: 24 }, (_, at) => {
  const label = verdicts[at % verdicts.length] ?? 'neutral';
  return { text: `the plot twist of day ${at} was ${label}`, label };
});
const sentences = Array.from({ length: 24 }, (_, at) => ({
  tokens: ['Ada', 'Lovelace', 'wrote', 'to', at % 2 === 0 ? 'London' : 'Tokyo', `on day ${at}`],
  tags: ['B-PER', 'I-PER', 'O', 'O', 'B-LOC', 'O'],
}));

/** Trains on from a checkpoint with its head, and exports the result. @returns the folder of the export */
async function trainFurther(base: string, output: string): Promise<string> {
  const rows: Rows = base.endsWith('-tokens') ? sentences : labelled;
  const options = { rows, base, output: `${output}-model`, epochs: 2, learningRate: 1e-3 };
  await using model = await orThrow(train({ ...options, isolation: 'inline', tuning: { quantize: false } }));
  return orThrow(exportModel(model.directory, output));
}

/** Probabilities of each text's or token's labels, by our graph and by transformers. */
async function trainedRow(path: string, theirs: PipelineAnswers): Promise<CheckpointRow> {
  const { id2label } = exportedSchema.parse(JSON.parse(await readFile(join(path, CONFIG_FILE), 'utf8')));
  const labels = Object.keys(id2label).length;
  const ours = (await graphResults(path, theirs.texts)).flatMap(({ outputs }) => scoresOf(outputs, labels));
  const expected = (theirs.logits ?? []).flatMap((logits) => scoresOf(logits, labels));
  const differences = expected.map((score, at) => Math.abs(score - (ours[at] ?? Number.NaN)));
  const others = ours.length === expected.length ? [] : [`${ours.length} scores, not ${expected.length}`];
  return shown(theirs, { scores: Math.max(...differences), compared: expected.length, others });
}

const exportedSchema = z.looseObject({ id2label: z.record(z.string(), z.string()) });

function scoresOf(logits: readonly number[], labels: number): number[] {
  return Array.from({ length: logits.length / labels }, (_, row) => [
    ...softmax(Float64Array.from(logits.slice(row * labels, (row + 1) * labels))),
  ]).flat();
}

async function rowOf(path: string, theirs: z.infer<typeof answerSchema>): Promise<CheckpointRow> {
  if ('failure' in theirs) return unequal(theirs.failure);
  const found = await compareCheckpoint(path, theirs).catch((thrown: unknown) => String(thrown));
  return typeof found === 'string' ? unequal(found) : shown(theirs, found);
}

function unequal(reason: string): CheckpointRow {
  return { class: '', compared: 0, 'largest difference': '', others: reason, equal: false };
}

function shown(theirs: PipelineAnswers, { scores, compared, others }: CheckpointDifference): CheckpointRow {
  return {
    class: theirs.class,
    compared,
    'largest difference': scores.toExponential(1),
    others: others.length === 0 ? 'none' : `${others.length}: ${others[0]}`,
    equal: others.length === 0 && compared > 0 && scores <= TOLERANCE,
  };
}

/** What transformers answers of each folder. */
function askPython(python: string, folders: readonly string[]): z.infer<typeof answerSchema>[] | string {
  const asked = runPython(python, ['ask', ...folders]);
  if ('failure' in asked) return asked.failure;
  return asked.lines.map((line) => answerSchema.parse(JSON.parse(line)));
}

function runPython(
  python: string,
  args: readonly string[],
): { readonly lines: readonly string[] } | { readonly failure: string } {
  const { stdout, stderr, error, status } = spawnSync(python, [SCRIPT, ...args], {
    encoding: 'utf8',
    maxBuffer: 2 ** 30,
  });
  if (error) return { failure: `${python} does not start` };
  if (status !== 0) return { failure: stderr.trim().slice(-300) };
  return { lines: stdout.trim().split('\n') };
}
