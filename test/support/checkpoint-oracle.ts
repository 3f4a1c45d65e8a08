import * as z from 'zod';
import { type Answer, type LoadModelOptions, loadModel } from '../../src/api/index.js';
import { AGGREGATIONS, orThrow, type Runtime } from '../../src/contract/index.js';
import type { Aggregation } from '../../src/models/index.js';

/** What bench/interop/checkpoints.py says of a checkpoint, and how far our answers are from it. */

const entitySchema = z.strictObject({ type: z.string(), start: z.int(), end: z.int(), score: z.number() });
type Entity = z.infer<typeof entitySchema>;

export const pipelineAnswersSchema = z.strictObject({
  class: z.string(),
  writtenBy: z.string(),
  texts: z.array(z.string()),
  /** Text by text; not recorded. */
  logits: z.array(z.array(z.number())).optional(),
  labels: z.array(z.array(z.strictObject({ label: z.string(), score: z.number() }))).optional(),
  simple: z.array(z.array(entitySchema)).optional(),
  first: z.array(z.array(entitySchema)).optional(),
});
export type PipelineAnswers = z.infer<typeof pipelineAnswersSchema>;

export interface CheckpointDifference {
  /** Largest difference between scores. */
  readonly scores: number;
  /** Labels or entities that were compared. */
  readonly compared: number;
  /** What is there on one side only. */
  readonly others: readonly string[];
}

/**
 * Asks a checkpoint each text.
 * @param options.only how labels of tokens become entities where that isn't asked for. Default: both ways are asked for.
 */
export async function compareCheckpoint(
  folder: string,
  theirs: PipelineAnswers,
  { only, ...place }: { readonly only?: Aggregation; readonly runtime?: Runtime } = {},
): Promise<CheckpointDifference> {
  if (theirs.labels !== undefined) {
    const answers = await answersOf(folder, theirs.texts, place);
    return differenceOf(answers.map(labelScores), theirs.labels.map(pairs));
  }
  const strategies = only === undefined ? AGGREGATIONS : [only];
  const found = await Promise.all(
    strategies.map(async (strategy) => {
      const answers = await answersOf(folder, theirs.texts, {
        ...place,
        ...(only === undefined && { aggregation: strategy }),
      });
      return compareEntities(answers, theirs, strategy);
    }),
  );
  return {
    scores: Math.max(...found.map(({ scores }) => scores)),
    compared: found.reduce((sum, { compared }) => sum + compared, 0),
    others: found.flatMap(({ others }) => others),
  };
}

async function answersOf(folder: string, texts: readonly string[], options: LoadModelOptions): Promise<Answer[]> {
  await using model = await orThrow(loadModel(folder, { isolation: 'inline', ...options }));
  return [...(await orThrow(model.predict(texts)))];
}

type Scores = ReadonlyMap<string, number>;

const labelScores = (answer: Answer): Scores => pairs(answer.kind === 'labels' ? answer.scores : []);

const pairs = (scored: readonly { readonly label: string; readonly score: number }[]): Scores =>
  new Map(scored.map(({ label, score }) => [label, score]));

function compareEntities(answers: readonly Answer[], theirs: PipelineAnswers, aggregation: Aggregation) {
  const ours = answers.map((answer, at) => {
    const text = theirs.texts[at] ?? '';
    const entities = answer.kind === 'entities' ? answer.entities : [];
    for (const { start, end, text: read } of entities) {
      if (text.slice(start, end) !== read) throw new Error(`${start} to ${end} of ${text} is not ${read}`);
    }
    return new Map(entities.map(({ type, start, end, score }) => [named(aggregation, text, type, start, end), score]));
  });
  const expected = (theirs[aggregation] ?? []).map((entities, at) => {
    const text = theirs.texts[at] ?? '';
    return new Map(entities.flatMap((entity) => inCodeUnits(text, aggregation, entity)));
  });
  return differenceOf(ours, expected);
}

function named(aggregation: Aggregation, text: string, type: string, start: number, end: number): string {
  return `${aggregation}: ${type} ${start} to ${end} ${JSON.stringify(text.slice(start, end))}`;
}

/** Offsets of Python count code points, and its spans may begin with the space before a word. */
function inCodeUnits(text: string, aggregation: Aggregation, { type, start, end, score }: Entity): [string, number][] {
  const points = [...text];
  const read = points.slice(start, end).join('');
  if (read.trim() === '') return [];
  const from = points.slice(0, start).join('').length + read.length - read.trimStart().length;
  return [[named(aggregation, text, type, from, from + read.trim().length), score]];
}

function differenceOf(ours: readonly Scores[], theirs: readonly Scores[]): CheckpointDifference {
  const others: string[] = [];
  let [scores, compared] = [0, 0];
  for (const [at, expected] of theirs.entries()) {
    const found: Scores = ours[at] ?? new Map();
    for (const [name, score] of expected) {
      const own = found.get(name);
      compared += 1;
      if (own === undefined) others.push(`only transformers has ${name}`);
      else scores = Math.max(scores, Math.abs(own - score));
    }
    for (const name of found.keys()) if (!expected.has(name)) others.push(`only Orchard has ${name}`);
  }
  return { scores, compared, others };
}
