import { scaleLinear } from 'd3-scale';
import type { Confusion } from '../model-folder/index.js';
import { type Chart, colours, drawnText, figure, rounded } from './chart.js';
import { percent, whole } from './figures.js';
import { type Html, html, table } from './html.js';

/** A heat map of more labels would be unreadable; the table of pairs still works. */
const MAX_MAPPED_LABELS = 100;
/** Up to this number of labels, each cell shows its count. */
const MAX_COUNTED_LABELS = 20;
const MAX_PAIRS = 20;

/** The confusion matrix as a heat map, and the most frequent confusions. */
export function confusionMatrix({ confusion }: { readonly confusion?: Confusion }): Html | undefined {
  if (confusion === undefined) return undefined;
  const { labels } = confusion;
  return html`<section>
<h2>Confusions</h2>
${labels.length <= MAX_MAPPED_LABELS ? figure(heatMap(confusion)) : undefined}
${pairTable(confusedPairs(confusion))}
</section>`;
}

interface ConfusedPair {
  readonly actual: string;
  readonly predicted: string;
  readonly count: number;
  /** Share of the rows of the actual label. */
  readonly share: number;
}

/** Pairs of different labels, the most frequent confusion first. */
function confusedPairs({ labels, counts }: Confusion): ConfusedPair[] {
  const pairs = counts.flatMap((row, actual) => {
    const total = sum(row);
    return row.map((count, predicted) => ({
      actual: labels[actual] ?? '',
      predicted: labels[predicted] ?? '',
      count: actual === predicted ? 0 : count,
      share: count / Math.max(1, total),
    }));
  });
  return pairs.filter(({ count }) => count > 0).sort((a, b) => b.count - a.count || b.share - a.share);
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

/** Space between the plot and the edges of the drawing without names. */
const PADDING = 10;

/** Actual labels from top to bottom, predicted ones from left to right. The shade of a cell is its share of the row. */
function heatMap({ labels, counts }: Confusion): Chart {
  const counted = labels.length <= MAX_COUNTED_LABELS;
  const side = Math.min(680, Math.max(200, 52 * labels.length));
  const names = labels.map(shortened);
  const fontSize = counted ? 12 : 8;
  const margin = namesLength(names, fontSize) + 40;
  const right = sum(counts.map((row, at) => row[at] ?? 0));
  const total = sum(counts.map(sum));
  return {
    width: side + margin + PADDING,
    height: side + margin + PADDING,
    caption:
      'Rows are the actual labels, columns the predicted ones. The darker a cell, the larger its share of the row.',
    alternative: `Confusion matrix of ${labels.length} labels: ${whole(right)} of ${whole(total)} rows are on its diagonal. The table below lists the most frequent confusions.`,
    drawing: [
      ...cells(counts, counted, { side, margin, fontSize }),
      ...axisNames(names, { side, margin, fontSize }),
      drawnText({ text: 'predicted', x: margin + side / 2, y: PADDING + side + margin - 10 }),
      drawnText({ text: 'actual', x: 12, y: PADDING + side / 2, upwards: true }),
    ],
  };
}

interface Layout {
  readonly side: number;
  readonly margin: number;
  readonly fontSize: number;
}

/** Each name next to its row and below its column. */
function axisNames(names: readonly string[], { side, margin, fontSize }: Layout): Html[] {
  const gap = 8;
  return names.flatMap((text, at) => {
    const middle = ((at + 0.5) * side) / names.length;
    const look = { text, anchor: 'end', fontSize } as const;
    return [
      drawnText({ ...look, x: margin - gap, y: PADDING + middle }),
      drawnText({ ...look, x: margin + middle, y: PADDING + side + gap, upwards: true }),
    ];
  });
}

/** The opacity of a cell, by its share of the row. */
const opacityOf = scaleLinear([0, 1], [0.03, 0.85]);

/** Empty cells are drawn only if the counts are shown. */
function cells(counts: Confusion['counts'], counted: boolean, { side, margin }: Layout): Html[] {
  const width = side / counts.length;
  const border = counted ? html` stroke="${colours.line}"` : undefined;
  return counts.flatMap((row, actual) => {
    const total = Math.max(1, sum(row));
    return row.flatMap((count, predicted) => {
      if (count === 0 && !counted) return [];
      const [x, y] = [margin + predicted * width, PADDING + actual * width];
      const shade = rounded(opacityOf(count / total));
      const cell = html`<rect x="${rounded(x)}" y="${rounded(y)}" width="${rounded(width)}" height="${rounded(width)}" fill="${colours.accent}" fill-opacity="${shade}"${border}/>`;
      if (!counted) return [cell];
      const middle = { x: x + width / 2, y: y + width / 2 };
      return [cell, drawnText({ text: String(count), ...middle, colour: colours.ink })];
    });
  });
}

const MAX_NAME_CHARACTERS = 26;
const shortened = (label: string): string => {
  const characters = [...label];
  if (characters.length <= MAX_NAME_CHARACTERS) return label;
  return `${characters.slice(0, MAX_NAME_CHARACTERS - 1).join('')}…`;
};

/** The approximate length of the longest name; a wide letter takes two thirds of the font size. */
const namesLength = (names: readonly string[], fontSize: number): number =>
  (2 / 3) * fontSize * Math.max(...names.map(({ length }) => length));

function pairTable(pairs: readonly ConfusedPair[]): Html {
  if (pairs.length === 0) return html`<p>No row got a wrong label.</p>`;
  const listed = pairs.slice(0, MAX_PAIRS);
  const rows = listed.map(({ actual, predicted, count, share }) => [
    actual,
    predicted,
    whole(count),
    percent(share),
  ]);
  return html`${table(['Is', { text: 'Taken for' }, 'Rows', 'Of its rows'], rows)}
${listed.length === pairs.length ? undefined : html`<p class="note">${listed.length} of ${whole(pairs.length)} kinds of confusion.</p>`}`;
}
