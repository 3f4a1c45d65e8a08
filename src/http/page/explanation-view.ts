import { element } from './elements.js';
import type { Explanation } from './service.js';

type ExplainedAnswer = Explanation['explained'][number];
type ExplainedWord = ExplainedAnswer['words'][number];

/** Weights below this share of the heaviest are left uncoloured. */
const LEAST_SHARE = 0.15;
/** Per cent of its colour that the heaviest word has, so that it can still be read. */
const MOST_COLOUR = 45;
/** How many words are told in words, and the least that they weigh beside the heaviest. */
const TOLD = 3;
const TOLD_SHARE = 0.25;
/** Of many entities or passages, so many are explained at first. */
const SHOWN_ANSWERS = 3;

/** What moved each answer: the text with its words in the colours of what they say. */
export function explanationView({ explained }: Explanation, query: string): HTMLElement {
  const legend = element(
    'p',
    { className: 'note' },
    element('mark', { className: 'for' }, 'Speaks for it'),
    ' ',
    element('mark', { className: 'against' }, 'speaks against it'),
    '; the fainter, the less.',
  );
  if (explained.length === 0) return element('p', { className: 'note' }, 'There is no answer to explain.');
  const [first, rest] = [explained.slice(0, SHOWN_ANSWERS), explained.slice(SHOWN_ANSWERS)];
  const shown = first.map((answer) => answerView(answer, query));
  if (rest.length === 0) return element('div', {}, ...shown, legend);
  const summary = element('summary', {}, `${rest.length} more`);
  const others = element('details', {}, summary, ...rest.map((answer) => answerView(answer, query)));
  return element('div', {}, ...shown, legend, others);
}

/** In words, for who can't see it. */
export function explanationSummary({ explained: [first] }: Explanation): string {
  if (first === undefined) return 'There is no answer to explain.';
  const heaviest = heaviestWords(first);
  if (heaviest.length === 0) return 'No word speaks for it.';
  return `What speaks most for it: ${heaviest.join(', ')}.`;
}

function answerView(answer: ExplainedAnswer, query: string): HTMLElement {
  const name = element('strong', {}, shortened(answer.answer));
  const heaviest = heaviestWords(answer);
  const told = heaviest.length === 0 ? 'no word speaks for it' : `most of all ${heaviest.join(', ')}`;
  return element(
    'div',
    { className: 'explained' },
    element('p', {}, name, `: ${told}.`),
    element('p', { className: 'words', dir: 'auto' }, ...colouredWords(answer.words, query)),
  );
}

function heaviestWords({ words }: ExplainedAnswer): string[] {
  const most = heaviestOf(words);
  return words
    .filter(({ weight }) => weight > TOLD_SHARE * most)
    .toSorted((a, b) => b.weight - a.weight)
    .slice(0, TOLD)
    .map(({ word }) => `“${word}”`);
}

function colouredWords(words: readonly ExplainedWord[], query: string): (Node | string)[] {
  const most = heaviestOf(words);
  const pieces: (Node | string)[] = [];
  let end = 0;
  for (const { word, start, weight } of words) {
    const share = most === 0 ? 0 : Math.abs(weight) / most;
    if (share < LEAST_SHARE) continue;
    pieces.push(query.slice(end, start));
    end = start + word.length;
    const title = `${weight > 0 ? '+' : '−'}${Math.abs(weight).toFixed(2)}`;
    const mark = element('mark', { className: weight > 0 ? 'for' : 'against', title }, word);
    mark.style.setProperty('--strength', `${Math.round(share * MOST_COLOUR)}%`);
    pieces.push(mark);
  }
  return [...pieces, query.slice(end)];
}

function heaviestOf(words: readonly ExplainedWord[]): number {
  return words.reduce((most, { weight }) => Math.max(most, Math.abs(weight)), 0);
}

/** Passages are long, and stand above. */
function shortened(answer: string): string {
  return answer.length > 80 ? `${answer.slice(0, 79).trimEnd()}…` : answer;
}
