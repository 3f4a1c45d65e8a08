import { fileURLToPath } from 'node:url';
import { median, quantile } from '../report.js';
import { ownRuntime, type Runtime } from '../runtimes.js';
import { Contestant, type NamedNumbers, type Round, type RoundFigures } from './contestant.js';
import type { BenchModel, Models, Precision, SubjectName } from './models.js';
import { textsFor } from './texts.js';

/** Orchard and its peers on the same models in the same precision, each in processes of its own. */

/** The numbers of threads that a peer may do best with. */
const PEER_THREADS = [1, 2];
/** Texts whose answers are compared, in one call. */
const CHECKED = 20;
/** Largest difference between numbers that count as equal. */
const TOLERANCE = 1e-4;

export type SideName = 'Orchard' | 'transformers.js' | 'onnxruntime in Python';

/** A library in a runtime, with the models in one process for each number of threads. */
export interface Side {
  readonly name: SideName;
  /** With its version. */
  readonly runtime: string;
  readonly contestants: readonly { readonly threads: number; readonly contestant: Contestant }[];
}

export interface SideOptions {
  readonly workers: number;
  readonly runtimes: readonly Runtime[];
  /** A Python with onnxruntime and tokenizers. */
  readonly python: string | undefined;
}

const script = (name: string) => fileURLToPath(new URL(name, import.meta.url));

/** Starts every library in every runtime. @returns those that run, and why others don't. */
export async function openSides(
  models: readonly BenchModel[],
  precision: 'float32' | 'int8',
  { workers, runtimes, python }: SideOptions,
): Promise<{ readonly sides: readonly Side[]; readonly notes: readonly string[] }> {
  const plans = runtimes.flatMap(({ name: runtime, typescript }) => [
    {
      name: 'Orchard' as const,
      runtime,
      command: [...typescript, script('orchard-contestant.ts')],
      threads: [workers],
    },
    {
      name: 'transformers.js' as const,
      runtime,
      command: [...typescript, script('transformers-contestant.ts')],
      threads: PEER_THREADS,
    },
  ]);
  const inPython = {
    name: 'onnxruntime in Python' as const,
    runtime: 'Python',
    command: [python ?? '', script('onnxruntime_contestant.py')],
    threads: PEER_THREADS,
  };
  const dtype = precision === 'int8' ? 'q8' : 'fp32';
  const sides: Side[] = [];
  const notes: string[] = [];
  for (const { name, runtime, command, threads } of python === undefined ? plans : [...plans, inPython]) {
    const started = await Promise.all(
      threads.map(async (count) => {
        const contestant = await Contestant.start(command, { models: [...models], threads: count, dtype });
        return { threads: count, contestant };
      }),
    );
    const contestants = started.flatMap(({ threads: count, contestant }) =>
      typeof contestant === 'string' ? [] : [{ threads: count, contestant }],
    );
    const [failed] = started.flatMap(({ contestant }) => (typeof contestant === 'string' ? [contestant] : []));
    if (failed !== undefined) notes.push(`${name} does not run in ${runtime}: ${failed.split('\n')[0]}`);
    if (contestants.length > 0) sides.push({ name, runtime, contestants });
  }
  return { sides, notes };
}

export async function closeSides(sides: readonly Side[]): Promise<void> {
  const contestants = sides.flatMap((side) => side.contestants);
  await Promise.all(contestants.map(({ contestant }) => contestant.stop()));
}

/** What a library reached in one scenario; each figure is the median over the rounds where nothing else is said. */
export interface Result {
  readonly name: SideName;
  readonly runtime: string;
  readonly version: string;
  /** Of those tried, the number that answered the most texts per second. */
  readonly threads: number;
  readonly textsPerSecond: number;
  /** Texts per second of time of all processors that the process used. */
  readonly textsPerProcessorSecond: number;
  /** How many times as many texts per second as transformers.js in the same runtime and round. */
  readonly ratio: number;
  readonly ratios: readonly number[];
  /** Of a call. */
  readonly p50Ms: number;
  /** p99 of a call divided by its p50. */
  readonly tail: number;
  /** How late the event loop was: the 99th percentile, and the longest of all rounds; null where there is no event loop. */
  readonly stallMs: { readonly p99: number; readonly max: number } | null;
  readonly peakMebibytes: number;
}

/**
 * Measures the libraries in rounds that take turns, in an order that every other round reverses: a shared machine
 * drifts by more than the differences to be measured. All answer all texts twice before.
 */
export async function compare(sides: readonly Side[], round: Round, rounds: number): Promise<Result[]> {
  const entries = sides.flatMap((side) =>
    side.contestants.map((each) => {
      const figures: RoundFigures[] = [];
      return { ...each, side, rounds: figures };
    }),
  );
  for (const { contestant } of entries) for (const _ of [1, 2]) await contestant.round(round);
  for (let at = 0; at < rounds; at += 1) {
    for (const entry of at % 2 === 0 ? entries : [...entries].reverse()) {
      entry.rounds.push(await entry.contestant.round(round));
    }
  }
  const texts = round.calls.flat().length;
  const elapsed = (entry: (typeof entries)[number]) => median(entry.rounds.map(({ elapsedMs }) => elapsedMs));
  const best = sides.flatMap((side) => {
    const own = entries.filter((entry) => entry.side === side).sort((a, b) => elapsed(a) - elapsed(b));
    return own.slice(0, 1);
  });
  return best.map(({ side, threads, contestant, rounds: own }): Result => {
    const peer = best.find((each) => each.side.name === 'transformers.js' && each.side.runtime === side.runtime);
    const middle = (of: (figures: RoundFigures) => number) => median(own.map(of));
    const ratios = own.map(({ elapsedMs }, at) => (peer?.rounds[at]?.elapsedMs ?? Number.NaN) / elapsedMs);
    const stalls = own.flatMap(({ stallMs }) => stallMs ?? []);
    const p99 = median(stalls.map((stall) => stall.p99));
    return {
      name: side.name,
      runtime: side.runtime,
      version: contestant.name,
      threads,
      textsPerSecond: middle(({ elapsedMs }) => (1000 * texts) / elapsedMs),
      textsPerProcessorSecond: middle(({ processorMs }) => (1000 * texts) / processorMs),
      ratio: median(ratios),
      ratios,
      p50Ms: middle(({ milliseconds }) => median(milliseconds)),
      tail: middle(({ milliseconds }) => quantile(milliseconds, 0.99) / median(milliseconds)),
      stallMs: stalls.length === 0 ? null : { p99, max: Math.max(...stalls.map(({ max }) => max)) },
      peakMebibytes: Math.max(...own.map(({ peakMebibytes }) => peakMebibytes)),
    };
  });
}

/** How far the float32 answers of a peer are from ours. */
export interface Agreement {
  readonly subject: SubjectName;
  readonly peer: SideName;
  readonly runtime: string;
  /** How many numbers were compared. */
  readonly numbers: number;
  readonly largestDifference: number;
  readonly isEqual: boolean;
}

/**
 * Compares what the encoder alone says in Orchard with what the peers say, once, on texts that all of them read whole:
 * probabilities of labels, logits of tokens, or how far each passage is behind the best one. In 8 bits there is nothing
 * to compare: activations are rounded by the largest of a run, and Orchard's runs have other texts.
 */
export async function compareAnswers(
  models: Models,
  subject: SubjectName,
  precision: Precision,
  sides: readonly Side[],
): Promise<Agreement[]> {
  const encoder = models.of(subject, 'encoder');
  const command = [...ownRuntime.typescript, script('orchard-contestant.ts')];
  // The models of a medley are those of the other subjects.
  if (encoder === undefined || precision !== 'float32' || subject === 'medley') return [];
  const ours = await Contestant.start(command, { models: [...encoder], threads: 1, dtype: 'fp32' });
  if (typeof ours === 'string') throw new Error(ours);
  // Only Orchard tells an encoder which letters are capitals.
  const texts = textsFor(subject, 'short', CHECKED).map((text) => text.toLowerCase());
  const expected = await ours.check(texts);
  await ours.stop();
  const agreements: Agreement[] = [];
  for (const { name, runtime, contestants } of sides) {
    const [first] = contestants;
    if (name === 'Orchard' || first === undefined) continue;
    const compared = differences(expected, await first.contestant.check(texts));
    const largestDifference = Math.max(...compared);
    const isEqual = largestDifference <= TOLERANCE;
    agreements.push({ subject, peer: name, runtime, numbers: compared.length, largestDifference, isEqual });
  }
  return agreements;
}

/**
 * Of the numbers that both name; NaN for a text without any. A peer gives one probability of a binary model's two, and
 * nothing for padding, for which Orchard's encoder may have outputs.
 */
export function differences(ours: readonly NamedNumbers[], theirs: readonly NamedNumbers[]): number[] {
  return ours.flatMap((numbers, text) => {
    const common = Object.entries(theirs[text] ?? {}).flatMap(([name, number]) => {
      const own = numbers[name];
      return own === undefined ? [] : [Math.abs(number - own)];
    });
    return common.length === 0 ? [Number.NaN] : common;
  });
}
