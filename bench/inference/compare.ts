import { median, quantile } from '../report.js';
import type { Contestant } from './contestant.js';
import type { Round, RoundFigures } from './protocol.js';
import type { Side } from './sides.js';

/** What a library reached in one scenario. */
export interface Result {
  readonly side: string;
  readonly isOurs: boolean;
  readonly version: string;
  /** Of the peers, the best of those tried; of Orchard, its workers. */
  readonly threads: number;
  /** Texts per second of one round with each number of threads, where several were tried. */
  readonly tried: readonly Trial[];
  readonly textsPerSecond: number;
  /** How many times as fast as the reference in the same round; the median, and each round. */
  readonly ratio: number;
  readonly ratios: readonly number[];
  /** Of a call, in milliseconds. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** The median over the rounds of this p50 divided by the reference's. */
  readonly p50Ratio: number;
  /** 99th percentile of the worst round; null where there is no event loop. */
  readonly loopDelayMs: number | null;
  readonly peakMebibytes: number;
  /** Of the lexical expert, the blend and the result; null where it isn't told. */
  readonly decodingShare: number | null;
}

export interface Trial {
  readonly threads: number;
  readonly textsPerSecond: number;
}

interface Entry {
  readonly side: Side;
  readonly threads: number;
  readonly contestant: Contestant;
  readonly decodingShare: number | null;
  readonly tried: readonly Trial[];
  readonly rounds: RoundFigures[];
}

/**
 * Measures the libraries in rounds that take turns, in an order that every other round reverses: a shared machine
 * drifts by more than the differences to be measured.
 */
export async function compare(sides: readonly Side[], round: Round, rounds: number): Promise<Result[]> {
  const entries: Entry[] = [];
  for (const side of sides) entries.push(await warmedUp(side, round));
  for (let at = 0; at < rounds; at += 1) {
    for (const entry of at % 2 === 0 ? entries : [...entries].reverse()) {
      entry.rounds.push(await entry.contestant.round(round));
    }
  }
  const reference = entries.find(({ side }) => side.role === 'reference');
  const texts = round.calls.flat().length;
  return entries.map((entry) => result(entry, reference?.rounds ?? [], texts));
}

/** Answers all texts twice with each number of threads, and takes the one that is the fastest the second time. */
async function warmedUp(side: Side, round: Round): Promise<Entry> {
  const trials: (Trial & Pick<Entry, 'contestant' | 'decodingShare'>)[] = [];
  for (const { threads, contestant } of side.contestants) {
    await contestant.round(round);
    const { elapsedMs, decodingShare } = await contestant.round({ ...round, traced: true });
    const textsPerSecond = (1000 * round.calls.flat().length) / elapsedMs;
    trials.push({ threads, textsPerSecond, contestant, decodingShare });
  }
  const best = trials.reduce((most, each) => (each.textsPerSecond > most.textsPerSecond ? each : most));
  const tried = trials.map(({ threads, textsPerSecond }) => ({ threads, textsPerSecond }));
  return { ...best, side, tried: tried.length > 1 ? tried : [], rounds: [] };
}

function result(entry: Entry, reference: readonly RoundFigures[], texts: number): Result {
  const { side, threads, tried, contestant, decodingShare, rounds } = entry;
  const perRound = (of: (own: RoundFigures, other: RoundFigures | undefined) => number) =>
    rounds.map((own, at) => of(own, reference[at]));
  const ratios = perRound((own, other) => (other?.elapsedMs ?? Number.NaN) / own.elapsedMs);
  const calls = rounds.flatMap(({ milliseconds }) => milliseconds);
  const delays = rounds.flatMap(({ loopDelayMs }) => loopDelayMs ?? []);
  return {
    side: side.name,
    isOurs: side.role === 'ours',
    version: contestant.name,
    threads,
    tried,
    textsPerSecond: (1000 * texts) / median(rounds.map(({ elapsedMs }) => elapsedMs)),
    ratio: median(ratios),
    ratios,
    p50Ms: median(calls),
    p99Ms: quantile(calls, 0.99),
    p50Ratio: median(perRound((own, other) => median(own.milliseconds) / median(other?.milliseconds ?? [Number.NaN]))),
    loopDelayMs: delays.length === 0 ? null : Math.max(...delays),
    peakMebibytes: Math.max(...rounds.map(({ peakMebibytes }) => peakMebibytes)),
    decodingShare,
  };
}
