import type { LabelledText } from '../recipe.js';
import { publishedTest } from './published.js';

/** The feelings of GoEmotions by sentiment, as its authors group them (Demszky et al. 2020, figure 2). */
const SENTIMENTS = {
  positive: 'admiration amusement approval caring desire excitement gratitude joy love optimism pride relief',
  negative: 'anger annoyance disappointment disapproval disgust embarrassment fear grief nervousness remorse sadness',
};
const sentimentOf = new Map(
  Object.entries(SENTIMENTS).flatMap(([sentiment, feelings]) => feelings.split(' ').map((each) => [each, sentiment])),
);

/** Comments whose feelings are all of one sentiment, with this sentiment as label. */
export function readFeelings(datasets: string): LabelledText[] {
  return publishedTest('goemotions')(datasets).flatMap(({ text, labels }) => {
    const [sentiment, ...others] = new Set(labels.map((label) => sentimentOf.get(label)));
    return sentiment === undefined || others.length > 0 ? [] : [{ text, labels: [sentiment] }];
  });
}
