/** Labelled texts that an English encoder may learn from before anybody fine-tunes it. */
import type { LabelledTexts } from '../../../../bench/datasets/labelled-texts.js';
import { readHeadlines } from '../../catalogue/datasets/headlines.js';
import { labelled } from '../../catalogue/datasets/published.js';
import { readCustomerReviews, readMovieReviews, readProsAndCons } from '../../catalogue/datasets/reviews.js';
import { readJigsaw, readParadetox, readToxicSpans, readTweets } from '../../catalogue/datasets/toxicity.js';
import type { LabelledSet } from '../supervised/labelled-set.js';

const MAX_ROWS = 20_000;

/**
 * The part of each training split that no dev set is taken from. Without Banking77, so that what is measured on a few of its
 * rows a label tells of tasks that an encoder has never seen.
 */
export const labelledSets: readonly LabelledSet[] = [
  published('sst2'),
  published('imdb'),
  { name: 'pros and cons', maxRows: MAX_ROWS, read: readProsAndCons },
  { name: 'movie reviews', read: readMovieReviews },
  { name: 'customer reviews', read: readCustomerReviews },
  published('twitter_financial'),
  { name: 'headlines', read: readHeadlines },
  published('massive_en'),
  published('ag_news'),
  published('goemotions'),
  {
    name: 'toxicity',
    maxRows: MAX_ROWS,
    read: (datasets) => [
      ...readParadetox(datasets),
      ...readToxicSpans(datasets),
      ...readTweets(datasets),
      ...readJigsaw(datasets).train,
    ],
  },
];

function published(name: string): LabelledSet {
  const read = (datasets: string): LabelledTexts['train'] => labelled(name, datasets).train;
  return { name, maxRows: MAX_ROWS, read };
}
