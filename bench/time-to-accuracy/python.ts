import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { type Hyperparameters, readBackbone, resolveHyperparameters } from '../../src/training/index.js';
import type { LabelledTexts, Row } from '../datasets/labelled-texts.js';
import type { PythonContestant } from './contestants.js';
import type { Measured, MeasureOptions } from './measured.js';

const SCRIPT = fileURLToPath(new URL('peers.py', import.meta.url));
const answerSchema = z.union([
  z.strictObject({
    predicted: z.array(z.int()),
    seconds: z.number(),
    processorSeconds: z.number(),
    versions: z.string(),
    settings: z.string(),
  }),
  z.strictObject({ missing: z.string() }),
]);

/** @returns the reason as text if the library isn't there, or fails. */
export async function trainInPython(
  { kind, weights }: PythonContestant,
  dataset: LabelledTexts,
  { threads, seed, python, training, pairs }: MeasureOptions,
): Promise<Measured | string> {
  const { labels } = dataset;
  const toPair = ({ text, labels: [label = ''] }: Row) => [text, labels.indexOf(label)];
  const chosen = weights === undefined ? undefined : await settingsFor(weights, dataset, training);
  const input = {
    labels: labels.length,
    train: dataset.train.map(toPair),
    dev: dataset.dev.map(toPair),
    test: dataset.test.map(toPair),
    threads,
    seed,
    weights,
    pairs,
    ...chosen,
  };
  const child = spawn(python, [SCRIPT, kind], { stdio: ['pipe', 'pipe', 'pipe'] });
  const ended = once(child, 'close').catch(() => ['', '']);
  child.stdin.on('error', () => undefined);
  child.stdin.end(JSON.stringify(input));
  const [out, errors] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  if (child.exitCode !== 0) return errors.trim().split('\n').at(-1) ?? `${python} does not start`;
  const answer = answerSchema.parse(JSON.parse(out));
  if ('missing' in answer) return `${answer.missing} is not installed`;
  return { ...answer, settings: chosen === undefined ? answer.settings : describe(kind, chosen, pairs) };
}

type Chosen = Pick<Hyperparameters, 'epochs' | 'batchSize' | 'learningRate' | 'labelSmoothing'>;

/** What Orchard would train with from the same weights. */
async function settingsFor(
  weights: string,
  { type, train }: LabelledTexts,
  training: MeasureOptions['training'],
): Promise<Chosen> {
  const backbone = await readBackbone({ name: weights, directory: weights });
  const model = { name: 'bench', type, family: 'Papaya', size: 'base' } as const;
  const texts = train.map((row) => row.text);
  const { epochs, batchSize, learningRate, labelSmoothing } = resolveHyperparameters(
    model,
    training,
    texts,
    {},
    backbone,
  );
  return { epochs, batchSize, learningRate, labelSmoothing };
}

function describe(kind: PythonContestant['kind'], { epochs, batchSize, learningRate }: Chosen, pairs: number): string {
  const rest = `batches of ${batchSize}, learning rate ${learningRate}`;
  return kind === 'setfit' ? `${pairs} pairs a text, ${rest}` : `${epochs} epochs, ${rest}`;
}
