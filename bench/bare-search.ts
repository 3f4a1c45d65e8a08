import { parseArgs } from 'node:util';
import { rankPassages } from '../src/search/index.js';
import { Random } from '../src/system/index.js';
import { type Asked, draw } from './bare-search/asked.js';
import { paragraphs, partSchema, sentences } from './bare-search/corpora.js';
import { fitted } from './bare-search/fit.js';
import { rankings } from './bare-search/whole.js';
import { machine } from './report.js';

/**
 * Search over passages that nothing was trained on: how often a right passage comes first, and how often the scores are
 * high where none answers. Passages are paragraphs of SQuAD 1.1 dev and single sentences of Du et al. 2017, drawn from all
 * topics; half of the questions asked of them have another source. The last 12 articles and the last two fifths of the sentences are
 * what is measured; all that was chosen and fitted was on the others, which `--part dev` measures and `--fit` fits anew.
 * `--whole` ranks whole corpora instead: on dev, abstracts by their titles; on test, SciFact and 50 entries of an FAQ; on both, articles.
 * Usage: `npm run bench -- bare-search <datasets folder> [--model english-mini] [--part test] [--fit] [--whole]`.
 */

const { values: options, positionals } = parseArgs({
  options: {
    model: { type: 'string', default: 'english-mini' },
    part: { type: 'string', default: 'test' },
    fit: { type: 'boolean', default: false },
    whole: { type: 'boolean', default: false },
  },
  allowPositionals: true,
});
const [folder] = positionals;
if (folder === undefined) throw new Error('usage: npm run bench -- bare-search <datasets folder>');

const part = options.fit ? 'dev' : partSchema.parse(options.part);
console.log(`${options.model}, ${part}; ${machine()}`);
if (options.whole) {
  console.table(await rankings(folder, options.model, part));
  process.exit();
}

/** Passages of a set, and how many sets are drawn. */
const SIZES = [
  [5, 120],
  [10, 100],
  [50, 60],
  [200, 30],
  [1000, 12],
] as const;

const corpora = [await paragraphs(folder, options.model, part), await sentences(folder, options.model, part)];
const drawn = corpora.flatMap((corpus) =>
  SIZES.map(([size, sets]) => ({
    name: corpus.name,
    size,
    asked: [...draw(corpus, size, sets, Random.fromSeed(size))],
  })),
);
console.table(
  drawn.flatMap(({ name, size, asked }) =>
    [false, true].flatMap((sameTopic) => {
      const some = asked.filter((each) => each.sameTopic === sameTopic);
      return some.length === 0 ? [] : [rowOf(name, size, sameTopic, some)];
    }),
  ),
);
if (options.fit) console.log(fitted(drawn.map(({ asked }) => asked)));

function rowOf(name: string, size: number, sameTopic: boolean, asked: readonly Asked[]) {
  const judged = asked.map(({ evidence, right }) => {
    const [best] = rankPassages(evidence, 1);
    return { right, isRight: best?.id === right, score: best?.score ?? 0, evidence };
  });
  const answerable = judged.filter(({ right }) => right !== undefined);
  const unanswerable = judged.filter(({ right }) => right === undefined);
  const share = (some: readonly unknown[], all: readonly unknown[]) =>
    ((100 * some.length) / Math.max(1, all.length)).toFixed(1);
  const first = (values: Float32Array) => values.indexOf(Math.max(...values));
  const right = answerable.filter(({ isRight }) => isRight);
  return {
    passages: `${size} ${name}${sameTopic ? ' of one topic' : ''}`,
    questions: judged.length,
    words: share(
      answerable.filter((each) => first(each.evidence.byWords) === each.right),
      answerable,
    ),
    cosine: share(
      answerable.filter((each) => first(each.evidence.bestSentences) === each.right),
      answerable,
    ),
    both: share(right, answerable),
    'right with 0.5 or more': share(
      right.filter(({ score }) => score >= 0.5),
      right,
    ),
    'no answer, 0.5 or more': share(
      unanswerable.filter(({ score }) => score >= 0.5),
      unanswerable,
    ),
    'no answer, 0.7 or more': share(
      unanswerable.filter(({ score }) => score >= 0.7),
      unanswerable,
    ),
  };
}
