import type { AnswerView, InferenceResult } from '../../contract/index.js';
import { element } from './elements.js';
import { entitySegments } from './entity-segments.js';

/** More labels than this are folded away. */
const SHOWN_LABELS = 10;
/** How many styles of entities the stylesheet has. */
const ENTITY_STYLES = 6;

interface View {
  /** The answer as it is best read. */
  shown(result: InferenceResult, query: string): HTMLElement;
  /** In words, for who can't see it. */
  summary(result: InferenceResult): string;
}

/** Labels as bars, entities in their text, passages by rank. */
export const views: Readonly<Record<AnswerView, View>> = {
  labels: {
    shown: bars,
    summary: ({ labels: [best = 'nothing'], scores: [score = 0] }) =>
      `The answer is ${best}, ${percent(score)}.`,
  },
  entities: {
    shown: entities,
    summary: ({ labels, tokens = [] }) => {
      const found = tokens.map((token, at) => `${token}, ${labels[at]}`).join('; ');
      return found === '' ? 'No entities found.' : `${tokens.length} found: ${found}.`;
    },
  },
  passages: {
    shown: passages,
    summary: ({ labels }) => `${labels.length} passages found. The first: ${labels[0] ?? 'nothing'}`,
  },
};

function bars({ labels, scores }: InferenceResult): HTMLElement {
  const rows = labels.map((label, at) => bar(label, scores[at] ?? 0));
  const shown = element('ol', { className: 'bars' }, ...rows.slice(0, SHOWN_LABELS));
  if (rows.length <= SHOWN_LABELS) return shown;
  const rest = element('ol', { className: 'bars', start: SHOWN_LABELS + 1 }, ...rows.slice(SHOWN_LABELS));
  const summary = element('summary', {}, `${rows.length - SHOWN_LABELS} more`);
  return element('div', {}, shown, element('details', {}, summary, rest));
}

function bar(label: string, score: number): HTMLElement {
  const filled = element('span', { className: 'filled' });
  filled.style.inlineSize = `${score * 100}%`;
  const track = element('span', { className: 'track', ariaHidden: 'true' }, filled);
  const row = [element('span', { className: 'label' }, label), track, element('span', {}, percent(score))];
  return element('li', {}, ...row);
}

function entities(result: InferenceResult, query: string): HTMLElement {
  const kinds = [...new Set(result.labels)];
  const pieces = entitySegments(query, result).map(({ text, label, score }) => {
    if (label === undefined) return text;
    const style = `entity style-${kinds.indexOf(label) % ENTITY_STYLES}`;
    const name = element('span', { className: 'kind' }, label);
    const title = `${label}, ${percent(score ?? 0)}`;
    return element('mark', { className: style, title }, text, ' ', name);
  });
  const text = element('p', { className: 'entities' }, ...pieces);
  if (kinds.length === 0) return element('div', {}, text, element('p', {}, 'No entities found.'));
  return element('div', {}, text, entityTable(result));
}

function entityTable({ tokens = [], labels, scores }: InferenceResult): HTMLElement {
  const head = ['Entity', 'Type', 'Score'].map((name) => element('th', { scope: 'col' }, name));
  const rows = tokens.map((token, at) =>
    element(
      'tr',
      {},
      element('th', { scope: 'row' }, token),
      element('td', {}, labels[at] ?? ''),
      element('td', { className: 'number' }, percent(scores[at] ?? 0)),
    ),
  );
  return element(
    'table',
    {},
    element('thead', {}, element('tr', {}, ...head)),
    element('tbody', {}, ...rows),
  );
}

function passages({ labels, scores }: InferenceResult): HTMLElement {
  const items = labels.map((passage, at) =>
    element(
      'li',
      {},
      passageView(passage),
      element('p', { className: 'note' }, `score ${(scores[at] ?? 0).toFixed(3)}`),
    ),
  );
  return element('ol', { className: 'passages' }, ...items);
}

/** A long passage begins with its first sentences, and can be read whole. */
function passageView(passage: string): HTMLElement {
  const text = shortened(passage);
  if (text === passage) return element('p', {}, passage);
  const summary = element('summary', {}, 'The whole passage');
  return element(
    'div',
    {},
    element('p', {}, text),
    element('details', {}, summary, element('p', {}, passage)),
  );
}

/** UTF-16 code units of a passage that is shown at once. */
const SHOWN_CHARACTERS = 280;

/** The first sentences, or the first words of a long one. */
function shortened(passage: string): string {
  if (passage.length <= SHOWN_CHARACTERS * 1.2) return passage;
  const start = passage.slice(0, SHOWN_CHARACTERS);
  const sentence = Math.max(...['. ', '? ', '! ', '。'].map((end) => start.lastIndexOf(end)));
  if (sentence > SHOWN_CHARACTERS / 3) return `${start.slice(0, sentence + 1)} …`;
  return `${start.slice(0, Math.max(start.lastIndexOf(' '), SHOWN_CHARACTERS / 2)).trimEnd()} …`;
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)}\u00a0%`;
}
