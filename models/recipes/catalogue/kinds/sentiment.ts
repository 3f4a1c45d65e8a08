import type { Kind } from '../recipe.js';
import { combined } from './combined.js';

/** What models of sentiment are known to get wrong, kind by kind, in sentences of our own. */

const THINGS = ['the film', 'the book', 'this phone', 'the hotel', 'the service', 'her new song'];

const deniedPraise = combined(
  [
    '{} is not good.',
    '{} was not worth the money.',
    'Nobody could call {} exciting.',
    'I can’t say that I enjoyed {}.',
    '{} is far from great.',
    'There is nothing to like about {}.',
    '{} is hardly what I would recommend.',
    'I never found {} funny or charming.',
  ],
  THINGS,
);

const deniedBlame = combined(
  [
    '{} is not bad at all.',
    'There is nothing to complain about with {}.',
    'I was never bored by {}.',
    '{} did not disappoint me.',
    'You cannot go wrong with {}.',
    '{} is anything but dull.',
    'I have no complaints about {}.',
    'Nobody will regret trying {}.',
  ],
  THINGS,
);

const turnedToPraise = combined(
  [
    'I expected the worst, but {} was wonderful.',
    '{} starts slowly, but then it is a joy.',
    'Despite some flaws, {} is excellent.',
    'Although the reviews were terrible, I loved {}.',
  ],
  THINGS,
);

const turnedToBlame = combined(
  [
    'I expected a lot, but {} was awful.',
    '{} starts well, but then it falls apart.',
    'Despite some nice ideas, {} is a mess.',
    'Although the reviews were glowing, I hated {}.',
  ],
  THINGS,
);

const better = combined(
  ['{} is better than all others of its kind.', 'I like {} more than anything else this year.'],
  THINGS,
);
const worse = combined(
  ['{} is worse than all others of its kind.', 'I like {} less than anything else this year.'],
  THINGS,
);

const plainPraise = combined(['I like {}.', '{} is lovely.', '{} made my day.', 'What a treat {} is!'], THINGS);
const plainBlame = combined(
  ['I dislike {}.', '{} is dreadful.', '{} ruined my day.', 'What a let-down {} is!'],
  THINGS,
);

export const sentimentKinds: readonly Kind[] = [
  { title: 'plain praise', label: 'positive', texts: plainPraise },
  { title: 'plain blame', label: 'negative', texts: plainBlame },
  { title: 'negated praise', label: 'negative', texts: deniedPraise },
  { title: 'negated blame', label: 'positive', texts: deniedBlame },
  { title: 'blame, but in the end praise', label: 'positive', texts: turnedToPraise },
  { title: 'praise, but in the end blame', label: 'negative', texts: turnedToBlame },
  { title: 'better than others', label: 'positive', texts: better },
  { title: 'worse than others', label: 'negative', texts: worse },
];
