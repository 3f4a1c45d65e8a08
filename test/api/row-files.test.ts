import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { checkedRows, readTypedRows } from '../../src/api/training/prepare-dataset.js';
import {
  type LabelledRow,
  type MultilabelRow,
  type ReadingOptions,
  type RowsOrPath,
  readRows,
  requireUsedReading,
  type TaggedRow,
} from '../../src/datasets/index.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

/** Files in the shapes that people and tools write: each is read as it is meant, or refused with what to do. */

const texts = ['The lamp broke', 'A lovely chair', 'It never came', 'So soft', 'Too loud', 'I love it'];
const labels = ['bad', 'good', 'bad', 'good', 'bad', 'good'];
const pairs = texts.map((text, at) => ({ text, label: labels[at] ?? '' }));
const csv = (mark = ',', header = `text${mark}label`) =>
  [header, ...pairs.map(({ text, label }) => `${text}${mark}${label}`)].join('\n');
const jsonl = (rows: readonly unknown[], end = '') => rows.map((row) => `${JSON.stringify(row)}${end}`).join('\n');
const json = (value: unknown) => JSON.stringify(value, undefined, 1);

const towns = ['Oslo', 'Prague', 'Ghent', 'Split'];
/** A sentence for each town, with an emoji before it: code points and UTF-16 code units differ. */
const sentences = towns.map((town, at) => `😀 Ada Noor ${at === 2 ? 'left' : 'sees'} ${town} now`);
const placeOf = (text: string, word: string) => text.indexOf(word);
const spansOf = (text: string, count: (start: string) => number) => {
  const town = towns.find((each) => text.includes(each)) ?? '';
  return [
    { word: 'Ada Noor', type: 'PER' },
    { word: town, type: 'LOC' },
  ].map(({ word, type }) => {
    const start = count(text.slice(0, placeOf(text, word)));
    return { start, end: start + count(word), type };
  });
};
const units = (text: string) => text.length;
const points = (text: string) => [...text].length;
const bytes = (text: string) => Buffer.byteLength(text);
const entityRows = (count: (start: string) => number) =>
  sentences.map((text) => ({ text, entities: spansOf(text, count) }));
const triples = (count: (start: string) => number) =>
  entityRows(count).map(
    ({ text, entities }) => [text, entities.map(({ start, end, type }) => [start, end, type])] as const,
  );

const words = (tags: readonly (readonly [string, string])[]) => tags.map(([word, tag]) => `${word}\t${tag}`).join('\n');
const conll = (...tagged: (readonly (readonly [string, string])[])[]) => `${tagged.map(words).join('\n\n')}\n`;

interface Case {
  readonly file: string;
  readonly content: string | Uint8Array;
  readonly reading?: ReadingOptions;
  readonly type: string;
  /** Labels, or types of entities. */
  readonly labels: readonly string[];
  readonly rows: number;
  readonly readAs?: string | RegExp;
  readonly warnings?: readonly string[];
}

const binary = { type: 'binary-text-classification', labels: ['bad', 'good'], rows: 6 } as const;
const multilabel = { type: 'multilabel-text-classification', labels: ['bug', 'ui', 'web'] } as const;
const entities = { type: 'named-entity-recognition', labels: ['LOC', 'PER'], rows: 4 } as const;
const questions = { type: 'question-answering', labels: [] } as const;

const cells = ['bug', 'bug|ui', 'web|ui', 'ui', 'web'];
const table = (cell: (labels: readonly string[]) => string, header = 'text,labels') =>
  [header, ...cells.map((each, at) => `${texts[at]},${cell(each.split('|'))}`)].join('\n');
const task = (text: string, result: readonly unknown[], more = {}) => ({
  id: 1,
  data: { text },
  annotations: [{ result, ...more }],
});

const cases: Readonly<Record<string, Case>> = {
  'a CSV': { file: 'a.csv', content: csv(), ...binary, readAs: 'CSV: 6 texts, 2 labels' },
  'a CSV under another name': { file: 'a.txt', content: csv(), ...binary },
  'semicolons, as Excel saves in much of Europe': {
    file: 'a.csv',
    content: `\uFEFF${csv(';')}`,
    ...binary,
    readAs: /^semicolon-separated/,
  },
  tabs: { file: 'a.csv', content: csv('\t'), ...binary, readAs: /^tab-separated/ },
  'tabs with quoted cells': {
    file: 'a.tsv',
    content: `text\tlabel\n"say ""hi"""\tgood\nno\tbad\n"a"\tbad\n`,
    ...binary,
    rows: 3,
  },
  pipes: { file: 'a.txt', content: csv('|'), ...binary },
  'another delimiter, by the option': { file: 'a.txt', content: csv('~'), reading: { delimiter: '~' }, ...binary },
  'a sep= line': { file: 'a.csv', content: `sep=;\n${csv(';')}`, ...binary },
  'lines that end in CR alone': { file: 'a.csv', content: csv().replaceAll('\n', '\r'), ...binary },
  'line breaks in quotes': {
    file: 'a.csv',
    content: `text,label\n"one,\n\ntwo",good\nthree,bad\n"four",bad`,
    ...binary,
    rows: 3,
  },
  'UTF-16 with a byte order mark': {
    file: 'a.csv',
    content: Buffer.from(`\uFEFF${csv('\t')}`, 'utf16le'),
    ...binary,
    readAs: /UTF-16/,
  },
  'UTF-16 without one': { file: 'a.csv', content: Buffer.from(csv(), 'utf16le'), ...binary },
  'UTF-16, the other way around': {
    file: 'a.csv',
    content: Buffer.from(`\uFEFF${csv()}`, 'utf16le').swap16(),
    ...binary,
  },
  'Windows-1252, by the option': {
    file: 'a.csv',
    content: Buffer.from(`${csv()}\ncaf\xe9 \x96 fine,good`, 'latin1'),
    reading: { encoding: 'windows-1252' },
    ...{ ...binary, rows: 7 },
  },
  gzip: { file: 'a.csv.gz', content: gzipSync(csv()), ...binary, readAs: /gzip/ },
  'a header with capitals and spaces': { file: 'a.csv', content: csv(',', ' Text , Label'), ...binary },
  "pandas' index column": {
    file: 'a.csv',
    content: [',text,label', ...pairs.map(({ text, label }, at) => `${at},${text},${label}`)].join('\n'),
    ...binary,
    warnings: [],
  },
  'columns that nothing reads': {
    file: 'a.csv',
    content: ['text,remark,label,score', ...pairs.map(({ text, label }) => `${text},more,${label},1`)].join('\n'),
    ...binary,
    warnings: ['unread_column'],
  },
  'labels with spaces around them': { file: 'a.csv', content: csv().replaceAll('bad', 'bad '), ...binary },
  'a JSON array': { file: 'a.json', content: json(pairs), ...binary, readAs: 'a JSON array: 6 texts, 2 labels' },
  'a JSON array on one line': { file: 'a.json', content: JSON.stringify(pairs), ...binary },
  'an object of arrays': { file: 'a.json', content: json({ text: texts, label: labels }), ...binary },
  'an object with an array': { file: 'a.json', content: json({ version: 1, data: pairs }), ...binary },
  "rows as Hugging Face's server answers": {
    file: 'a.json',
    content: JSON.stringify({ features: [{ name: 'text' }], rows: pairs.map((row, row_idx) => ({ row_idx, row })) }),
    ...binary,
  },
  'JSON Lines': { file: 'a.jsonl', content: jsonl(pairs), ...binary, readAs: /^JSON Lines/ },
  'JSON Lines with a comma after each': { file: 'a.jsonl', content: jsonl(pairs, ','), ...binary },
  'numbers as labels': {
    file: 'a.jsonl',
    content: jsonl(pairs.map(({ text, label }) => ({ text, label: label.length }))),
    ...binary,
    labels: ['3', '4'],
  },
  'booleans as labels': {
    file: 'a.jsonl',
    content: jsonl(pairs.map(({ text, label }) => ({ text, label: label === 'good' }))),
    ...binary,
    labels: ['false', 'true'],
  },
  fastText: {
    file: 'train.txt',
    content: pairs.map(({ text, label }) => `__label__${label} ${text}`).join('\n'),
    ...binary,
    readAs: /^fastText/,
  },
  'fastText with several labels': {
    file: 'train.txt',
    content: cells
      .map(
        (cell, at) =>
          `${cell
            .split('|')
            .map((label) => `__label__${label}`)
            .join(' ')} ${texts[at]}`,
      )
      .join('\n'),
    ...{ ...multilabel, rows: 5 },
  },
  'Prodigy, one label': {
    file: 'a.jsonl',
    content: jsonl(
      [...pairs, { text: 'x y', label: 'good' }].map((row, at) => ({ ...row, answer: at === 6 ? 'reject' : 'accept' })),
    ),
    ...binary,
    readAs: /^a Prodigy export: 6 texts, 2 labels; left out 1 rejected or ignored example$/,
  },
  'Prodigy, a choice': {
    file: 'a.jsonl',
    content: jsonl(
      cells.map((cell, at) => ({ text: texts[at], options: [], accept: cell.split('|'), answer: 'accept' })),
    ),
    ...{ ...multilabel, rows: 5 },
  },
  'Prodigy, entities': {
    file: 'a.jsonl',
    content: jsonl(
      entityRows(points).map(({ text, entities: spans }) => ({
        ...{ text, tokens: [], answer: 'accept' },
        spans: spans.map(({ start, end, type }) => ({ start, end, label: type })),
      })),
    ),
    ...entities,
    readAs: /code points/,
  },
  'doccano, labels': {
    file: 'a.jsonl',
    content: jsonl(cells.map((cell, id) => ({ id, text: texts[id], label: cell.split('|'), Comments: [] }))),
    ...multilabel,
    rows: 5,
  },
  'doccano, entities': {
    file: 'a.jsonl',
    content: jsonl(triples(points).map(([text, label], id) => ({ id, text, label, Comments: [] }))),
    ...entities,
    readAs: /^a doccano export/,
  },
  'doccano, entities with relations': {
    file: 'a.jsonl',
    content: jsonl(
      triples(points).map(([text, spans], id) => ({
        ...{ id, text, relations: [{ id: 0, from_id: 0, to_id: 1, type: 'in' }] },
        entities: spans.map(([start, end, label]) => ({ id: 0, label, start_offset: start, end_offset: end })),
      })),
    ),
    ...entities,
    readAs: /ignored the relations of 4 texts/,
  },
  'Label Studio, choices': {
    file: 'a.json',
    content: json([
      ...pairs.map(({ text, label }) => task(text, [{ type: 'choices', value: { choices: [label] } }])),
      { id: 2, data: { text: 'not done' }, annotations: [] },
      task('cancelled', [{ type: 'choices', value: { choices: ['bad'] } }], { was_cancelled: true }),
    ]),
    ...binary,
    readAs: /^a Label Studio export: 6 texts, 2 labels; left out 2 tasks without annotations$/,
  },
  'Label Studio, entities': {
    file: 'a.json',
    content: json(
      entityRows(units).map(({ text, entities: spans }) =>
        task(
          text,
          spans.map(({ start, end, type }) => ({
            type: 'labels',
            value: { start, end, text: text.slice(start, end), labels: [type] },
          })),
        ),
      ),
    ),
    ...entities,
  },
  "spaCy's tuples": {
    file: 'a.json',
    content: json(triples(points).map(([text, spans]) => [text, { entities: spans }])),
    ...entities,
    readAs: /^spaCy/,
  },
  'spaCy, one document a line': {
    file: 'a.jsonl',
    content: jsonl(triples(points).map(([text, spans]) => ({ text, entities: spans }))),
    ...entities,
  },
  "spaCy's groups of spans": {
    file: 'a.jsonl',
    content: jsonl(triples(points).map(([text, spans]) => ({ text, spans: { sc: spans } }))),
    ...entities,
  },
  "spaCy's cats": {
    file: 'a.jsonl',
    content: jsonl(
      cells.map((cell, at) => ({
        text: texts[at],
        cats: { bug: 0, ui: 0, web: 0, ...Object.fromEntries(cell.split('|').map((each) => [each, 1])) },
      })),
    ),
    ...{ ...multilabel, rows: 5 },
  },
  'several labels by |': {
    file: 'a.csv',
    content: table((each) => each.join('|'), 'text,tags'),
    ...multilabel,
    rows: 5,
  },
  'several labels by | in a column called label': {
    file: 'a.csv',
    content: table((each) => each.join('|'), 'text,label'),
    ...multilabel,
    rows: 5,
    readAs: /separated by \|/,
  },
  'several labels by ;': { file: 'a.csv', content: table((each) => each.join('; ')), ...multilabel, rows: 5 },
  'several labels by commas': {
    file: 'a.csv',
    content: table((each) => `"${each.join(', ')}"`),
    ...multilabel,
    rows: 5,
  },
  'lists of JSON': {
    file: 'a.csv',
    content: table((each) => `"[${each.map((label) => `""${label}""`).join(', ')}]"`),
    ...multilabel,
    rows: 5,
    readAs: /lists/,
  },
  'lists of Python': {
    file: 'a.csv',
    content: table((each) => `"[${each.map((label) => `'${label}'`).join(', ')}]"`),
    ...multilabel,
    rows: 5,
  },
  'a column for each label': {
    file: 'a.csv',
    content: [
      'text,bug,ui,web',
      ...cells.map((cell, at) =>
        [texts[at], ...['bug', 'ui', 'web'].map((label) => Number(cell.split('|').includes(label)))].join(','),
      ),
    ].join('\n'),
    ...{ ...multilabel, rows: 5 },
  },
  'a column for each of two labels, one of which holds': {
    file: 'a.csv',
    content: ['text,bad,good', ...pairs.map(({ text, label }) => `${text},${label === 'bad' ? '1,0' : '0,1'}`)].join(
      '\n',
    ),
    ...binary,
  },
  'rows without labels among others': {
    file: 'a.jsonl',
    content: jsonl([
      ...cells.map((cell, at) => ({ text: texts[at], labels: cell.split('|') })),
      { text: 'none', labels: [] },
    ]),
    ...multilabel,
    rows: 6,
  },
  'entities in UTF-16 code units': {
    file: 'a.jsonl',
    content: jsonl(entityRows(units)),
    ...entities,
    readAs: /^JSON Lines: 4 texts, 2 entity types$/,
  },
  'entities in code points': {
    file: 'a.jsonl',
    content: jsonl(entityRows(points)),
    ...entities,
    readAs: /entity offsets in code points/,
  },
  'entities in bytes': { file: 'a.jsonl', content: jsonl(entityRows(bytes)), ...entities, readAs: /UTF-8 bytes/ },
  'entities in code points, by the option': {
    file: 'a.jsonl',
    content: jsonl(entityRows(points)),
    reading: { offsets: 'code-points' },
    ...entities,
  },
  'entities twice, with spaces around them and their types': {
    file: 'a.jsonl',
    content: jsonl(
      entityRows(units).map(({ text, entities: spans }) => ({
        text,
        spans: [...spans, ...spans].map(({ start, end, type }) => ({
          start: start - 1,
          end: end + 1,
          tag: `${type} `,
        })),
      })),
    ),
    ...entities,
  },
  'CoNLL 2003 by its own name': {
    file: 'eng.train',
    content: '-DOCSTART- -X- -X- O\n\nAda NN B-NP B-PER\nNoor NN I-NP I-PER\n\nOslo NN B-NP B-LOC\n',
    ...{ ...entities, rows: 2 },
  },
  IOB1: {
    file: 'a.conll',
    content: conll(
      [
        ['Ada', 'I-PER'],
        ['Noor', 'I-PER'],
      ],
      [
        ['Oslo', 'I-LOC'],
        ['now', 'O'],
      ],
    ),
    ...{ ...entities, rows: 2 },
    readAs: /IOB1/,
  },
  BIOES: {
    file: 'a.bio',
    content: conll(
      [
        ['Ada', 'B-PER'],
        ['Noor', 'E-PER'],
      ],
      [
        ['Oslo', 'S-LOC'],
        ['now', 'O'],
      ],
    ),
    ...{ ...entities, rows: 2 },
    readAs: /BIOES/,
  },
  BILOU: {
    file: 'a.txt',
    content: conll(
      [
        ['Ada', 'B-PER'],
        ['Noor', 'L-PER'],
      ],
      [
        ['Oslo', 'U-LOC'],
        ['now', 'O'],
      ],
    ),
    ...{ ...entities, rows: 2 },
    readAs: /BILOU/,
  },
  IO: {
    file: 'a.conll',
    content: conll(
      [
        ['Ada', 'PER'],
        ['Noor', 'PER'],
      ],
      [
        ['Oslo', 'LOC'],
        ['now', 'O'],
      ],
    ),
    ...{ ...entities, rows: 2 },
    readAs: /IO tags/,
  },
  'words with their numbers and comments': {
    file: 'a.conllu',
    content: '# sent_id = 1\n1\tAda\t_\tB-PER\n2\tNoor\t_\tI-PER\n\n# sent_id = 2\n1\tOslo\t_\tB-LOC\n',
    ...{ ...entities, rows: 2 },
  },
  'a table with one word per row': {
    file: 'ner.csv',
    content: 'Sentence #,Word,POS,Tag\nSentence: 1,Ada,NN,B-PER\n,Noor,NN,I-PER\nSentence: 2,Oslo,NN,B-LOC\n',
    ...{ ...entities, rows: 2 },
  },
  'tags that are numbers, with their names': {
    file: 'a.jsonl',
    content: jsonl([
      { tokens: ['Ada', 'Noor'], ner_tags: [1, 2] },
      { tokens: ['Oslo'], ner_tags: [3] },
    ]),
    reading: { tagNames: ['O', 'B-PER', 'I-PER', 'B-LOC', 'I-LOC'] },
    ...{ ...entities, rows: 2 },
  },
  'questions and answers': {
    file: 'faq.json',
    content: json(texts.map((text) => ({ question: `${text}?`, answer: text }))),
    ...questions,
    rows: 6,
  },
  SQuAD: {
    file: 'squad.json',
    content: json({
      version: '2',
      data: [
        {
          title: 'x',
          paragraphs: [
            {
              context: 'Oslo is in Norway.',
              qas: [
                { id: 1, question: 'Where is Oslo?', answers: [] },
                { id: 2, question: 'Why?', is_impossible: true },
              ],
            },
            { context: 'Ghent is in Belgium.', qas: [{ id: 3, question: 'Where is Ghent?', answers: [] }] },
          ],
        },
      ],
    }),
    ...{ ...questions, rows: 2 },
    readAs: /^SQuAD: 2 questions, 2 passages; left out 1 question without an answer$/,
  },
  'questions as headings': {
    file: 'faq.md',
    content:
      '# FAQ\n\nAsk us.\n\n## Where is my order?\n\nOpen Orders.\n\n## Can I return it?\n\nYes.\nWithin a month.\n',
    ...{ ...questions, rows: 2 },
    readAs: /^Markdown/,
  },
  'invalid rows, left out by the option': {
    file: 'a.jsonl',
    content: jsonl([...pairs, { text: 'no label' }, { text: 7, label: 'good' }]),
    reading: { skipInvalid: true },
    ...binary,
    warnings: ['invalid_row'],
  },
  'a blank text, left out by the option': {
    file: 'a.csv',
    content: `${csv()}\n,good`,
    reading: { skipInvalid: true },
    ...binary,
    warnings: ['invalid_row'],
  },
  'a missing label, left out by the option, which is no label of its own': {
    file: 'a.csv',
    content: `${csv()}\na text,`,
    reading: { skipInvalid: true },
    ...binary,
    warnings: ['invalid_row'],
  },
};

async function read(path: string, reading: ReadingOptions = {}) {
  const settings = { reading, labels: undefined, passages: undefined, type: undefined, signal: undefined };
  const { table, type } = await readTypedRows(path, settings);
  const { dataset, leftOut } = await checkedRows(
    { train: table, dev: table, skipInvalid: reading.skipInvalid },
    type,
    undefined,
  );
  const names = 'labels' in dataset ? dataset.labels : 'tags' in dataset ? dataset.tags : [];
  const types = Array.isArray(names) ? names.map((name) => String(name).replace(/^[BI]-/u, '')) : [];
  return {
    type: type.type,
    labels: [...new Set(types)].filter((name) => name !== 'O').sort(),
    rows: table.checked.rows.length,
    readAs: table.readAs,
    warnings: [...(table.warnings ?? []), ...leftOut].map(({ kind }) => kind),
  };
}

function written(file: string, content: string | Uint8Array): string {
  const path = join(temporaryDirectory(), file);
  writeFileSync(path, content);
  return path;
}

describe('a file is read', () => {
  it.each(Object.entries(cases))('%s', async (_, { file, content, reading, readAs, warnings, ...expected }) => {
    const found = await read(written(file, content), reading);
    expect(found).toMatchObject(expected);
    if (readAs !== undefined) expect(found.readAs).toMatch(readAs);
    if (warnings) expect(found.warnings).toEqual(warnings);
  });

  it('a folder of brat', async () => {
    const folder = join(temporaryDirectory(), 'brat');
    mkdirSync(folder);
    for (const [at, { text, entities: spans }] of entityRows(points).entries()) {
      writeFileSync(join(folder, `${at}.txt`), text);
      const lines = spans.map(({ start, end, type }, id) => `T${id}\t${type} ${start} ${end}\tx`);
      writeFileSync(join(folder, `${at}.ann`), [...lines, 'R1\tin Arg1:T0 Arg2:T1', ''].join('\n'));
    }
    const found = await read(folder);
    expect(found).toMatchObject(entities);
    expect(found.readAs).toMatch(/^a folder of brat.*4 annotations of other kinds/);
  });
});

describe('rows in memory', () => {
  const inMemory = async (rows: readonly unknown[], reading: ReadingOptions = {}) => {
    const iterable: Iterable<never> = JSON.parse(JSON.stringify(rows));
    const settings = { reading, labels: undefined, passages: undefined, type: undefined, signal: undefined };
    return (await readTypedRows(iterable, settings)).table;
  };

  it('may have numbers and booleans as labels', async () => {
    const table = await inMemory([
      { text: 'a', label: 1 },
      { text: 'b', label: false },
    ]);
    expect(table.checked.rows).toEqual([
      { text: 'a', label: '1' },
      { text: 'b', label: 'false' },
    ]);
  });

  it('may have entities whose places count code points, or as other tools write them', async () => {
    const expected = entityRows(units);
    expect((await inMemory(entityRows(points))).checked.rows).toEqual(expected);
    const [text, entities = []] = triples(units)[0] ?? [];
    expect((await inMemory([{ text, entities }])).checked.rows).toEqual(expected.slice(0, 1));
  });

  it('may have numbers as tags if their names are given', async () => {
    const rows = [{ tokens: ['Ada', 'Noor', 'left'], tags: [1, 2, 0] }];
    const tagNames = ['O', 'B-PER', 'I-PER'];
    const { checked } = await inMemory(rows, { tagNames });
    expect(checked.rows).toEqual([{ tokens: ['Ada', 'Noor', 'left'], tags: ['B-PER', 'I-PER', 'O'] }]);
    await expect(inMemory(rows, { tagNames: ['O', 'B-PER'] })).rejects.toThrow(/^rows\.0\.tags\.1: give a string$/);
  });

  it('are left out with a problem if that is asked for', async () => {
    const table = await inMemory([...pairs, { text: 1, label: 'a' }], { skipInvalid: true });
    expect(table.checked.rows).toHaveLength(6);
    expect(table.warnings).toMatchObject([{ kind: 'invalid_row', count: 1 }]);
  });

  it('take no options of files', async () => {
    await expect(inMemory(pairs, { encoding: 'utf-8' })).rejects.toThrow(/encoding: applies only to files/);
  });

  it('have a warning if labels are alike, or may mean that there is none', async () => {
    const rows = ['Good', 'good', 'NA', 'bad'].flatMap((label, at) => [
      { text: `a${at}`, label },
      { text: `b${at}`, label },
    ]);
    const table = await inMemory(rows);
    const type = { type: 'multiclass-text-classification', family: 'Papaya', typeIs: 'given', reason: '' } as const;
    const { dataset } = await checkedRows({ train: table, dev: table }, type, undefined);
    expect(dataset.warnings.filter(({ kind }) => /label/.test(kind)).map(({ message }) => message)).toEqual([
      'labels that differ only in case, spaces or Unicode form: "Good" (4 rows) and "good" (4 rows)',
      '"NA" (4 rows) is read as a label; remove the rows that have no label',
    ]);
  });
});

describe('an option for reading', () => {
  const labelled: readonly LabelledRow[] = pairs;
  const tagged: readonly TaggedRow[] = [{ tokens: ['Ada', 'left'], tags: ['B-PER', 'O'] }];
  const numbered = jsonl([{ tokens: ['Ada', 'left'], tags: [1, 0] }]);
  const tagNames = ['O', 'B-PER'];
  const refusal = async (sources: readonly RowsOrPath[], reading: ReadingOptions) => {
    const ofRows = { offsets: reading.offsets, tagNames: reading.tagNames };
    const tables = await Promise.all(
      sources.map((source) =>
        readRows(source, { option: 'rows', reading: typeof source === 'string' ? reading : ofRows }),
      ),
    );
    return () => requireUsedReading(tables, reading);
  };

  it.each<[string, string, ReadingOptions, RegExp]>([
    [
      'a.jsonl',
      jsonl(pairs),
      { delimiter: ';' },
      /^delimiter: .*to tables, and a\.jsonl was read as JSON Lines: .*leave `delimiter` out$/,
    ],
    ['a.conll', conll([['Ada', 'B-PER']]), { delimiter: ';' }, /^delimiter: .* a\.conll was read as CoNLL/],
    ['a.conll', conll([['Ada', 'B-PER']]), { tagNames }, /^tagNames: applies only to tags that are numbers/],
    ['a.jsonl', jsonl(tagged), { tagNames }, /^tagNames: applies only to tags that are numbers/],
    ['a.jsonl', jsonl(tagged), { offsets: 'bytes' }, /^offsets: applies only to texts with entities/],
    ['a.csv', csv(), { offsets: 'bytes' }, /^offsets: .* a\.csv was read as CSV: 6 texts, 2 labels/],
    [
      'a.conll',
      conll([['Ada', 'B-PER']]),
      { columns: { text: 'body' } },
      /^columns\.text: .*leave `columns\.text` out$/,
    ],
    [
      'a.csv',
      'question,answer\nWho?,Ada\n',
      { columns: { text: 'body' } },
      /^columns\.text: applies only to tables and JSON with a text/,
    ],
    ['a.csv', 'text,bug,web\na,1,0\nb,0,1\n', { columns: { label: 'topic' } }, /^columns\.label: .*a column per label/],
  ])('is refused for a file that has no use for it: %s %j %j', async (file, content, reading, message) => {
    expect(await refusal([written(file, content)], reading)).toThrow(message);
  });

  it('is refused for rows in memory that have no use for it', async () => {
    expect(await refusal([labelled], { offsets: 'bytes' })).toThrow(
      /^offsets: applies only to texts with entities; leave `offsets` out$/,
    );
    expect(await refusal([tagged], { tagNames })).toThrow(/^tagNames: applies only to tags that are numbers/);
  });

  it('is refused for a folder of brat if it is one for files', async () => {
    const folder = temporaryDirectory();
    writeFileSync(join(folder, 'a.txt'), 'Ada left');
    writeFileSync(join(folder, 'a.ann'), 'T1\tPER 0 3\tAda\n');
    expect(await refusal([folder], { encoding: 'utf-8' })).toThrow(/^encoding: applies only to single files/);
    expect(await refusal([folder], { offsets: 'code-points' })).not.toThrow();
  });

  it('may be of use to one of several sources', async () => {
    const sources = [tagged, written('dev.jsonl', numbered)];
    expect(await refusal(sources, { tagNames, format: 'jsonl' })).not.toThrow();
    const files = [written('a.jsonl', jsonl(pairs)), written('dev.csv', csv(';'))];
    expect(await refusal(files, { delimiter: ';', columns: { text: 'text', label: 'label' } })).not.toThrow();
    expect(await refusal(files, { delimiter: ';', offsets: 'bytes' })).toThrow(/a\.jsonl was .*, and dev\.csv was /);
  });
});

describe('rows that are only judged', () => {
  const strict = (rows: readonly MultilabelRow[]) => readRows(rows, { option: 'rows', isStrict: true });

  it('have each label once, as rows to train on', async () => {
    await expect(strict([{ text: 'a', labels: ['x', 'y', 'x'] }])).rejects.toThrow(
      'rows.0.labels.2: give each label once',
    );
    await expect(strict([{ text: 'a', labels: ['x', ' '] }])).rejects.toThrow('give a label that is not blank');
    const path = written('a.csv', 'text,labels\na,x|x\nb,x|y\n');
    await expect(readRows(path, { option: 'rows', isStrict: true })).rejects.toThrow(
      'a.csv line 2, column labels.1: found "x"; expected each label once',
    );
  });
});

const refused: Readonly<Record<string, readonly [file: string, content: string | Uint8Array, message: RegExp]>> = {
  'Windows-1252': [
    'a.csv',
    Buffer.from(`${csv()}\ncaf\xe9,good`, 'latin1'),
    /line 8.*0xE9.*iconv.*`encoding: 'windows-1252'`/,
  ],
  'an Excel workbook': ['a.xlsx', Buffer.from('PK\x03\x04....'), /an Excel workbook.*read_excel\('a.xlsx'\)/],
  Parquet: ['a.parquet', Buffer.from('PAR1....'), /a Parquet file.*read_parquet/],
  'a PDF': ['a.pdf', Buffer.from('%PDF-1.7 ....'), /found a PDF document; expected text/],
  'a pointer of Git LFS': [
    'a.csv',
    'version https://git-lfs.github.com/spec/v1\noid sha256:0',
    /Git LFS.*git lfs pull/,
  ],
  'an empty file': ['a.csv', '', /found an empty file/],
  'a header alone': ['a.csv', 'text,label\n', /CSV without rows/],
  'columns of other names': [
    'a.csv',
    csv(',', 'opinion,stars'),
    /CSV with 2 columns: "opinion", "stars".*\{ text: "opinion", label: "stars" \}/,
  ],
  'no header': ['a.csv', csv().split('\n').slice(1).join('\n'), /the first line looks like a row.*text,label/],
  'a column twice': [
    'a.csv',
    csv(',', 'text,label').replace('text,label', 'text,text').replaceAll(/\n/g, '\n'),
    /found CSV with 2 columns|the column "text" twice/,
  ],
  'two columns that may be the label': [
    'a.csv',
    ['text,category,intent', ...pairs.map(({ text, label }) => `${text},${label},x`)].join('\n'),
    /"category" and "intent", each of which may be the label.*columns/,
  ],
  'ends that are inclusive': [
    'a.jsonl',
    jsonl(
      entityRows(units).map(({ text, entities: spans }) => ({
        text,
        entities: spans.map((span) => ({ ...span, end: span.end - 1 })),
      })),
    ),
    /8 of 8 entities begin or end inside a word: "Ada Noo" of "Ada Noor".*add 1 to each end/,
  ],
  'places that fit no words': [
    'a.jsonl',
    jsonl(
      entityRows(units).map(({ text, entities: spans }) => ({
        text,
        entities: spans.map((span) => ({ ...span, start: span.start + 1, end: span.end - 1 })),
      })),
    ),
    /8 of 8 entities begin or end inside a word.*`offsets: 'code-points'` or `offsets: 'bytes'`/,
  ],
  'tags that are numbers': [
    'a.jsonl',
    jsonl([
      { tokens: ['Ada'], ner_tags: [1] },
      { tokens: ['Oslo'], ner_tags: [3] },
    ]),
    /tags that are numbers.*tagNames/,
  ],
  'words without sentences': ['a.csv', 'word,tag\nAda,B-PER\nsees,O\n', /one word per row.*sentence_id/],
  'JSON that is cut': ['a.json', '[{"text": "a", "label": "b"}, {"te', /a\.json line 1.*expected JSON/],
  'a line that is no JSON': ['a.jsonl', `${jsonl(pairs)}\nnone`, /a\.jsonl line 7.*expected JSON on each line/],
  'a JSON value without rows': ['a.json', '{"name": "x"}', /a\.json.*found/],
  'entities that are no list': [
    'a.jsonl',
    jsonl([{ text: 'Ada', entities: null }]),
    /column entities: found null; expected an array of entities/,
  ],
  'a label that is missing': [
    'a.jsonl',
    jsonl([...pairs, { text: 'no label' }]),
    /line 7, column label: found undefined; expected a label/,
  ],
};

describe('a file is refused with what to do', () => {
  it.each(Object.entries(refused))('%s', async (_, [file, content, message]) => {
    await expect(read(written(file, content))).rejects.toThrow(message);
  });
});
