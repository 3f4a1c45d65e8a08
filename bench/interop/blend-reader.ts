import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { folderModels, memoryStorage, Predictor, pretrainedModelNames } from 'orchard-nlp';
import { z } from 'zod';

/** Classifiers of the catalogue and of tests, answered by Orchard and by the reader of examples/python. */

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const READER = join(ROOT, 'examples/python/read_model.py');
const CATALOGUE = join(ROOT, 'models/catalogue');
/** Those that have passages or entities. */
const OTHERS: readonly string[] = ['named-entity-recognition', 'research-papers-search'];

const answerSchema = z.strictObject({ labels: z.array(z.string()), scores: z.array(z.number()) });
type Answer = z.infer<typeof answerSchema>;

/** A row of the table, by model. */
export type BlendTable = Record<
  string,
  { readonly texts: number; readonly 'largest difference': string; readonly equal: boolean }
>;

/** Largest difference of two probabilities that count as equal. */
const TOLERANCE = 1e-6;

/** @returns the reason as text if Python does not run. */
export async function compareBlends(texts: readonly string[], python: string): Promise<BlendTable | string> {
  const asked = texts.filter((text) => text !== '');
  await using predictor = new Predictor({
    storage: memoryStorage(),
    modelLoader: folderModels(CATALOGUE),
  });
  const table: BlendTable = {};
  for (const name of pretrainedModelNames) {
    if (OTHERS.includes(name) || !readdirSync(CATALOGUE).includes(name)) continue;
    const theirs = answersOf(join(CATALOGUE, name), asked, python);
    if (typeof theirs === 'string') return theirs;
    const ours: Answer[] = [];
    for (const text of asked) {
      const answer = await predictor.predictPretrained(name, text);
      if (answer.isErr()) throw answer.error;
      ours.push(answer.value.data);
    }
    const largest = Math.max(...ours.map((each, at) => differenceOf(each, theirs[at])));
    table[name] = {
      texts: asked.length,
      'largest difference': largest.toExponential(1),
      equal: largest <= TOLERANCE,
    };
  }
  return table;
}

/** Of the scores of each label; labels are compared by name, since equal scores may change places. */
function differenceOf(ours: Answer, theirs: Answer | undefined): number {
  const scores = new Map(theirs?.labels.map((label, at) => [label, theirs.scores[at] ?? Number.NaN]));
  return Math.max(
    ...ours.labels.map((label, at) =>
      Math.abs((ours.scores[at] ?? 0) - (scores.get(label) ?? Number.POSITIVE_INFINITY)),
    ),
  );
}

function answersOf(folder: string, texts: readonly string[], python: string): Answer[] | string {
  const { stdout, stderr, error, status } = spawnSync(python, [READER, folder, ...texts], {
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  });
  if (error) return `${python} does not start`;
  if (status !== 0) return `${basename(dirname(folder))}: ${stderr.trim().slice(-300)}`;
  return stdout
    .trim()
    .split('\n')
    .map((line) => answerSchema.parse(JSON.parse(line)));
}
