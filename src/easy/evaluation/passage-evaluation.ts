import { listedMistakes, type Mistake } from '../../model-folder/index.js';
import type { Steps } from '../../pauses.js';
import type { ScoredPassage } from '../answers.js';
import { type BootstrapOptions, intervalsOf } from './bootstrap.js';
import type { PassageEvaluation } from './evaluation.js';

/** A question with the passages that answer it, and the model's ten best. */
export interface JudgedQuestion {
  readonly question: string;
  readonly answers: readonly string[];
  readonly ranked: readonly ScoredPassage[];
}

/** How many places count. */
const PLACES = 10;

/** The figures of a model that ranks passages. */
export function* passageEvaluation(
  rows: readonly JudgedQuestion[],
  bootstrap: BootstrapOptions,
): Steps<PassageEvaluation> {
  const ranks = rows.map(rankOf);
  const gains = rows.map(gainOf);
  const share = (k: number, times?: Int32Array) =>
    mean(
      ranks.map((rank) => (rank <= k ? 1 : 0)),
      times,
    );
  const reciprocal = ranks.map((rank) => (rank <= PLACES ? 1 / rank : 0));
  const figures = (times?: Int32Array) => ({
    top1: share(1, times),
    mrr: mean(reciprocal, times),
    ndcg: mean(gains, times),
  });
  const intervals = yield* intervalsOf(rows.length, ['top1', 'mrr', 'ndcg'], figures, bootstrap);
  return {
    kind: 'passages',
    rows: rows.length,
    ...figures(),
    top3: share(3),
    top5: share(5),
    top10: share(PLACES),
    intervals,
    mistakes: listedMistakes(rows.flatMap(mistakeOf)),
  };
}

/** Of the first right passage, from 1; ∞ if none is among the best. */
function rankOf({ answers, ranked }: JudgedQuestion): number {
  const at = ranked.slice(0, PLACES).findIndex(({ text }) => answers.includes(text));
  return at === -1 ? Number.POSITIVE_INFINITY : at + 1;
}

/** nDCG: what the right passages are worth where they stand, as a share of what they would be at the top. */
function gainOf({ answers, ranked }: JudgedQuestion): number {
  const worth = (at: number) => 1 / Math.log2(at + 2);
  const found = ranked
    .slice(0, PLACES)
    .reduce((gain, { text }, at) => gain + (answers.includes(text) ? worth(at) : 0), 0);
  const most = Math.min(PLACES, new Set(answers).size);
  let best = 0;
  for (let at = 0; at < most; at += 1) best += worth(at);
  return best === 0 ? 0 : found / best;
}

/** @param times how often each counts; default: once. */
function mean(values: readonly number[], times?: Int32Array): number {
  const sum = values.reduce((total, value, at) => total + value * (times?.[at] ?? 1), 0);
  return values.length === 0 ? 0 : sum / values.length;
}

function mistakeOf({ question, answers, ranked }: JudgedQuestion): Mistake[] {
  const [best] = ranked;
  if (best === undefined || answers.includes(best.text)) return [];
  return [{ text: question, expected: [...answers], predicted: [best.text], score: best.score }];
}
