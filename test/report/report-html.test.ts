import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { reportHtml } from '../../src/report/index.js';
import { aReport, aTrainingRecord } from './a-report.js';
import { type Page, readPage, rowsUnder, textOf } from './page.js';

const pageOf = async (...parts: Parameters<typeof aReport>): Promise<Page> =>
  readPage(await reportHtml(aReport(...parts)));
const headings = (page: Page) => page.elements('h2').map(textOf);
const svgTexts = (page: Page) => page.elements('text').map(textOf);

/** WCAG 2.2, of colours in sRGB from 0 to 255. */
function contrast(...colours: readonly [readonly number[], readonly number[]]): number {
  const [dark = 0, light = 0] = colours
    .map((colour) =>
      colour.map((value) => (value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4)),
    )
    .map(([red = 0, green = 0, blue = 0]) => 0.2126 * red + 0.7152 * green + 0.0722 * blue)
    .toSorted((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

describe('the report', () => {
  it('is one page without scripts that makes no requests', async () => {
    const page = await pageOf();
    for (const tag of ['script', 'link', 'img', 'iframe', 'object']) expect(page.elements(tag)).toEqual([]);
    for (const { attrs } of page.all) {
      for (const { name, value } of attrs) {
        expect(name).not.toMatch(/^(on|src|href)/);
        if (name !== 'xmlns' && name !== 'xlink') expect(value).not.toMatch(/^\w+:\/\/|url\((?!#)/);
      }
    }
    expect(page.elements('style').map(textOf).join('')).not.toMatch(/url\(|@import/);
  });

  it('shows texts and labels of the dataset as they are, whatever markup is in them', async () => {
    const nasty = fc
      .array(
        fc.constantFrom('<script>', '</td>', '"', "'", '&amp;', '<!--', ']]>', '</svg>', '<b onclick=x>', 'a', '\\'),
      )
      .map((pieces) => pieces.join(''));
    await fc.assert(
      fc.asyncProperty(nasty, async (text) => {
        const mistakes = [{ text, expected: [text], predicted: ['good'], score: 0.9 }];
        const classes = [{ label: text, precision: 1, recall: 1, f1: 1, support: 1 }];
        const confusion = {
          labels: ['good', text],
          counts: [
            [1, 1],
            [0, 1],
          ],
        };
        const warnings = [{ kind: 'duplicate_row', count: 1, message: text, examples: [] }];
        const page = await pageOf({ evaluation: { mistakes, classes, confusion }, training: { warnings } });
        expect(page.elements('script')).toEqual([]);
        expect(page.elements('b')).toEqual([]);
        expect(rowsUnder(page, 'Text')).toEqual([[text, text || '–', 'good', '0.900']]);
        expect(rowsUnder(page, 'Class').map(([label]) => label)).toEqual([text]);
        expect(page.elements('li').map(textOf)).toEqual([text]);
      }),
      { numRuns: 40 },
    );
  });

  it('colours the words of a mistake by what they say, and leaves the text as it is', async () => {
    const words = [
      { start: 0, end: 3, weight: -2 },
      { start: 4, end: 7, weight: 4 },
      { start: 8, end: 10, weight: 0.1 },
    ];
    const mistakes = [{ text: 'not bad at all', expected: ['good'], predicted: ['bad'], score: 0.91, words }];
    const page = await pageOf({ evaluation: { mistakes } });
    expect(rowsUnder(page, 'Text')).toEqual([['not bad at all', 'good', 'bad', '0.910']]);
    const [, , ...marks] = page.elements('mark').map((mark) => ({
      text: textOf(mark),
      ...Object.fromEntries(mark.attrs.map(({ name, value }) => [name, value])),
    }));
    const all = page.elements('mark').map((mark) => textOf(mark));
    expect(all.toSorted()).toEqual(['against', 'bad', 'not', 'towards']);
    expect(marks).toHaveLength(2);
  });

  it('has the figures of encoder, expert and blend', async () => {
    expect(rowsUnder(await pageOf(), 'Part')).toEqual([
      ['Encoder alone', '81.3 %', '70.0 %', '0.050 (was 0.200)'],
      ['Lexical expert alone', '84.0 %', '80.0 %', '0.060 (was 0.300)'],
      ['Blend of both', '87.5 %', '85.0 %', '0.050 (was 0.100)'],
    ]);
  });

  it('names one calibration error of the blend, in the table of the parts and where it is drawn', async () => {
    const calibration = { bins: [], error: 0.03, error_before: 0.12 };
    const page = await pageOf({ evaluation: { calibration } });
    expect(rowsUnder(page, 'Part').at(-1)).toContain('0.030 (was 0.120)');
    expect(page.elements('p').map(textOf)).toContainEqual(expect.stringContaining('error 0.030; 0.120 before'));
  });

  it('draws no cell of the confusions so strong that its count can hardly be read', async () => {
    const page = await pageOf();
    const shades = page
      .elements('rect')
      .map(({ attrs }) => Number(attrs.find(({ name }) => name === 'fill-opacity')?.value));
    const strongest = Math.max(...shades);
    // Ink, accent and paper of the page, in light and in dark mode.
    for (const colours of [
      ['1d2330', '2f6f4f', 'ffffff'],
      ['e7eaf0', '63b58c', '14181f'],
    ]) {
      const [ink = [], accent = [], paper = []] = colours.map((hex) =>
        [0, 2, 4].map((at) => Number.parseInt(hex.slice(at, at + 2), 16)),
      );
      for (const share of [0, strongest]) {
        const cell = accent.map((value, at) => share * value + (1 - share) * (paper[at] ?? 0));
        expect(contrast(ink, cell)).toBeGreaterThan(4.5);
      }
    }
  });

  it('marks the best epoch in the learning curves and in their table', async () => {
    const page = await pageOf();
    expect(page.elements('figcaption').map(textOf)).toContainEqual(expect.stringContaining('Epoch 2 was kept'));
    expect(svgTexts(page)).toContain('best: 2');
    expect(rowsUnder(page, 'Epoch')).toEqual([
      ['1', '1.250', '0.500', '0.400'],
      ['2 (best)', '0.500', '0.813', '0.700'],
      ['3', '0.375', '0.750', '0.650'],
    ]);
  });

  it('shows the ranks of a retrieval model, which has neither accuracy nor classes', async () => {
    const shares = { 1: 0.5, 3: 0.6, 5: 0.7, 10: 0.8, 20: 0.9, 100: 1 };
    const page = await pageOf({
      labels: [],
      training: {
        training_stats: {
          batch_size: 16,
          epoch: 2,
          metrics: {
            elapsed_time: [1, 2],
            training: { loss: [2, 1] },
            validation: { topk: [{ ...shares, 1: 0.25 }, shares] },
          },
        },
        parts: { encoder: { topk: shares }, expert: { topk: shares }, blend: { topk: shares } },
      },
      evaluation: null,
    });
    expect(rowsUnder(page, 'Part').slice(-1)).toEqual([
      ['Blend of both', '50.0 %', '60.0 %', '70.0 %', '80.0 %', '90.0 %', '100.0 %'],
    ]);
    expect(rowsUnder(page, 'Epoch').map((cells) => cells[2])).toEqual(['0.250', '0.500']);
  });

  it('labels the axis of a metric that never changed with short numbers', async () => {
    for (const share of [0, 0.75, 1]) {
      const validation = { accuracy: [share, share], f1: [share, share] };
      const training_stats = {
        ...aTrainingRecord.training_stats,
        metrics: { elapsed_time: [1, 1], training: { loss: [1, 0.5] }, validation },
      };
      const page = await pageOf({ training: { training_stats } });
      const numbers = svgTexts(page).filter((text) => /^\d[\d.]*$/.test(text));
      for (const text of numbers) expect(text.length).toBeLessThanOrEqual(4);
    }
  });

  it('names the label that F1 is of in its figures, learning curves and tables', async () => {
    const two = {
      labels: ['normal', 'danger'],
      model: { type: 'binary-text-classification', family: 'Papaya' },
    } as const;
    const namesOfF1 = async (positive?: string) => {
      const page = await pageOf({ ...two, ...(positive !== undefined && { training: { positive } }) });
      const named = ['text', 'th', 'dt'].flatMap((tag) => page.elements(tag).map(textOf));
      return named.filter((text) => /F1 of/.test(text));
    };
    const [second, asked] = [await namesOfF1(), await namesOfF1('normal')];
    expect(second.length).toBeGreaterThanOrEqual(3);
    for (const text of second) expect(text).toContain('F1 of "danger"');
    expect(asked).toEqual(second.map((text) => text.replace('danger', 'normal')));
  });

  it('lists classes from the worst to the best', async () => {
    expect(rowsUnder(await pageOf(), 'Class')).toEqual([
      ['bad', '50.0 %', '25.0 %', '33.3 %', '4'],
      ['mixed', '100.0 %', '50.0 %', '66.7 %', '2'],
      ['good', '90.0 %', '90.0 %', '90.0 %', '10'],
    ]);
  });

  it('draws every count of a small confusion matrix and lists the pairs, most frequent first', async () => {
    const page = await pageOf();
    expect(svgTexts(page).filter((text) => /^\d$/.test(text)).length).toBeGreaterThanOrEqual(9);
    expect(svgTexts(page)).toEqual(expect.arrayContaining(['9', 'actual', 'predicted']));
    expect(rowsUnder(page, 'Predicted label')).toEqual([
      ['bad', 'good', '3', '75.0 %'],
      ['mixed', 'good', '1', '50.0 %'],
      ['good', 'bad', '1', '10.0 %'],
    ]);
  });

  it('names labels in the matrix as they are, and leaves nothing on the objects of the language', async () => {
    const ownProperties = () =>
      [Object, Object.prototype, Object.prototype.toString, Object.prototype.hasOwnProperty].map(Reflect.ownKeys);
    const before = ownProperties();
    const labels = ['__proto__', 'constructor', 'toString', 'hasOwnProperty'];
    const counts = labels.map(() => [1, 2, 3, 4]);
    const page = await pageOf({ labels, evaluation: { confusion: { labels, counts } } });
    for (const label of labels) expect(svgTexts(page).filter((text) => text === label)).toHaveLength(2);
    expect(ownProperties()).toEqual(before);
  });

  it.each([
    [77, true],
    [150, false],
  ])('shows which of %i labels are confused, without a number in every cell', async (count, drawn) => {
    const countAt = (row: number, column: number) => (row === column ? 1234 : row === 3 && column === 5 ? 40 : 0);
    const labels = Array.from({ length: count }, (_, at) => `topic ${at}`);
    const counts = labels.map((_, row) => labels.map((_, column) => countAt(row, column)));
    const page = await pageOf({ labels, evaluation: { confusion: { labels, counts } } });
    expect(rowsUnder(page, 'Predicted label')).toEqual([['topic 3', 'topic 5', '40', '3.1 %']]);
    expect(svgTexts(page)).not.toContain('1234');
    expect(svgTexts(page).includes('topic 76')).toBe(drawn);
  });

  it('shows how well scores are calibrated', async () => {
    const page = await pageOf();
    expect(rowsUnder(page, 'Confidence')).toEqual([
      ['55.0 %', '50.0 %', '4'],
      ['95.0 %', '100.0 %', '12'],
    ]);
  });

  it('names warnings with the lines they are about', async () => {
    expect((await pageOf()).elements('li').map(textOf)).toEqual(['1 row is there twice (train.tsv line 4,182)']);
  });

  it('gives every drawing an alternative in words', async () => {
    const page = await pageOf();
    const pictures = page.all.filter(({ attrs }) => attrs.some(({ value }) => value === 'img'));
    expect(pictures).toHaveLength(page.elements('svg').length);
    for (const { attrs } of pictures) {
      expect(attrs.find(({ name }) => name === 'aria-label')?.value.length).toBeGreaterThan(20);
    }
  });

  it('leaves out what an older model folder does not have', async () => {
    const { parts: _, ...training } = aReport().training;
    const source = await reportHtml({
      ...aReport({ evaluation: null }),
      training: { ...training, warnings: [] },
    });
    expect(headings(readPage(source))).toEqual(['Learning curves', 'Configuration']);
    expect(source).not.toMatch(/NaN|undefined/);
  });
});
