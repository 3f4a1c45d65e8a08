import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { embed, train } from 'orchard-nlp';
import { z } from 'zod';
import type { Measured, Options } from './results.js';
import { fewShot, type LabelledSet, type LabelledText, shuffled } from './sets.js';

/** `train()` on few rows of each class, and peers on the same rows and the same backbone. */

const PEERS_SCRIPT = fileURLToPath(new URL('peers.py', import.meta.url));
const BACKBONE = fileURLToPath(new URL('../../models/backbones/english-mini', import.meta.url));
/** Pairs of each kind that SetFit makes of a row. */
const PAIRS = 20;

/** What a model says of itself; not every version states all of it. */
const statedSchema = z.object({
  accuracy: z.number().optional(),
  interval: z.object({ low: z.number(), high: z.number() }).optional(),
  method: z.string().optional(),
});

export async function measureClassifier(
  set: LabelledSet,
  perClass: number,
  seed: number,
  options: Options,
): Promise<Measured> {
  const rows = fewShot(set.train, perClass, seed);
  const test = set.test.length > options.test ? shuffled(set.test, 99).slice(0, options.test) : set.test;
  const startedAt = performance.now();
  await using model = (await train({ rows, seed, threads: options.threads }))._unsafeUnwrap();
  const seconds = (performance.now() - startedAt) / 1000;
  const answers = (await model.predict(test.map(({ text }) => text)))._unsafeUnwrap();
  const decisions = answers.map(({ label, score }, at) => ({ confidence: score, right: label === test[at]?.label }));
  const accuracy = shareOf(decisions.map(({ right }) => right));
  const { accuracy: own, interval, method } = statedSchema.parse(model.training);
  const peers = options.peers === 'none' ? {} : await askPeers(rows, test, seed, options);
  const figures = Object.entries(peers).map(([name, { predicted }]) => [
    name,
    shareOf(predicted.map((label, at) => label === test[at]?.label)),
  ]);
  const times = Object.entries(peers).map(([name, peer]) => [name, peer.seconds]);
  return {
    testRows: test.length,
    figures: { 'train()': accuracy, ...Object.fromEntries(figures) },
    seconds: { 'train()': seconds, ...Object.fromEntries(times) },
    ece: calibrationError(decisions),
    own,
    held: interval && interval.low <= accuracy && accuracy <= interval.high,
    method,
  };
}

const shareOf = (right: readonly boolean[]): number => right.filter(Boolean).length / right.length;

/** Expected calibration error with ten bins (Naeini et al. 2015). */
function calibrationError(decisions: readonly { readonly confidence: number; readonly right: boolean }[]): number {
  const excess = Array.from({ length: 10 }, () => 0);
  for (const { confidence, right } of decisions) {
    const bin = Math.min(9, Math.floor(confidence * 10));
    excess[bin] = (excess[bin] ?? 0) + Number(right) - confidence;
  }
  return excess.reduce((sum, each) => sum + Math.abs(each), 0) / decisions.length;
}

const answerSchema = z.strictObject({
  answers: z.record(z.string(), z.object({ predicted: z.array(z.int()), seconds: z.number() })),
  missing: z.array(z.string()),
});
type PeerAnswers = Readonly<Record<string, { readonly predicted: readonly string[]; readonly seconds: number }>>;

/** By method, the labels of the test rows, and the seconds of training with those of embedding the rows. */
async function askPeers(
  rows: readonly LabelledText[],
  test: readonly LabelledText[],
  seed: number,
  { threads, python, peers }: Options,
): Promise<PeerAnswers> {
  const labels = [...new Set(rows.map(({ label }) => label))].sort();
  await embed(['opens the encoder'], { model: BACKBONE });
  const startedAt = performance.now();
  const ownVectors = await vectorsOf(rows);
  const embedding = (performance.now() - startedAt) / 1000;
  const input = {
    train: rows.map(({ text, label }) => [text, labels.indexOf(label)]),
    test: test.map(({ text }) => text),
    vectors: [ownVectors, await vectorsOf(test)],
    weights: BACKBONE,
    pairs: peers === 'setfit' ? PAIRS : 0,
    threads,
    seed,
  };
  const settings = { input: JSON.stringify(input), encoding: 'utf8', maxBuffer: 2 ** 30 } as const;
  const { stdout, stderr, error, status } = spawnSync(python, [PEERS_SCRIPT], settings);
  if (error || status !== 0) {
    console.log(`  without peers: ${error ? `${python} does not start` : stderr.trim().split('\n').at(-1)}`);
    return {};
  }
  const { answers, missing } = answerSchema.parse(JSON.parse(stdout));
  for (const name of missing) console.log(`  without a peer: ${name} is not installed`);
  const answered = Object.entries(answers).map(([name, { predicted, seconds }]) => [
    name,
    {
      predicted: predicted.map((id) => labels[id] ?? ''),
      seconds: name === 'SetFit' ? seconds : seconds + embedding,
    },
  ]);
  return Object.fromEntries(answered);
}

async function vectorsOf(rows: readonly LabelledText[]): Promise<number[][]> {
  const texts = rows.map(({ text }) => text);
  const vectors = (await embed(texts, { model: BACKBONE }))._unsafeUnwrap();
  return vectors.map((vector) => Array.from(vector));
}
