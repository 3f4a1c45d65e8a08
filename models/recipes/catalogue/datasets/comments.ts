import type { UnlabelledSource } from '../recipe.js';
import { reviewSentences } from './sentences.js';
import { readParadetox, readToxicSpans, readTweets } from './toxicity.js';

/** Comments and posts without labels, for a teacher to answer. */
export const commentSources: readonly UnlabelledSource[] = [
  {
    title: 'ParaDetox, polite rewordings (Logacheva et al. 2022)',
    licence: 'CC0 1.0',
    most: 8_000,
    read: (datasets) => readParadetox(datasets).flatMap(({ text, labels }) => (labels.includes('toxic') ? [] : [text])),
  },
  {
    title: 'Toxic Spans (Pavlopoulos et al. 2021)',
    licence: 'CC0 1.0',
    remark: 'sentences of comments with at least one marked span',
    most: 8_000,
    read: (datasets) => reviewSentences(readToxicSpans(datasets)),
  },
  {
    title: 'Hate speech and offensive language (Davidson et al. 2017)',
    licence: 'MIT',
    remark: 'user names and links taken out',
    most: 6_000,
    read: (datasets) => readTweets(datasets).map(({ text }) => text),
  },
];
