import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { typeOfArchive, typeOfRows } from '../../src/api/training/prepare-dataset.js';
import type { DatasetError, ValidationError } from '../../src/contract/errors.js';
import { readRows } from '../../src/datasets/index.js';
import { sentenceWithEntities, taggedSentence } from '../../src/families/entities/tagged-sentence.js';

/** Rows as they come, and the type of model that they are for. */

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'orchard-rows-'));
});
afterAll(() => rm(folder, { recursive: true }));

async function file(name: string, ...lines: string[]): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, `${lines.join('\n')}\n`);
  return path;
}

const inferred = async (source: Parameters<typeof readRows>[0]) =>
  typeOfRows(await readRows(source, { option: 'rows' }), undefined).type;

describe('the type of rows', () => {
  it.each([
    [
      'binary-text-classification',
      [
        { text: 'a', label: 'x' },
        { text: 'b', label: 'y' },
      ],
    ],
    ['multiclass-text-classification', ['x', 'y', 'z'].map((label) => ({ text: 'a', label }))],
    ['multilabel-text-classification', [{ text: 'a', labels: [] }]],
    ['named-entity-recognition', [{ tokens: ['Ada'], tags: ['B-PER'] }]],
    ['named-entity-recognition', [{ text: 'Ada', entities: [{ start: 0, end: 3, type: 'PER' }] }]],
    ['question-answering', [{ question: 'a?', passage: 'a' }]],
    ['question-answering', [{ question: 'a?', passages: ['a', 'b'] }]],
  ])('is %s', async (type, rows) => {
    expect(await inferred(rows)).toBe(type);
  });

  it('is told from generators and files alike', async () => {
    async function* rows() {
      yield { text: 'a', label: 'x' };
      yield { text: 'b', label: 'y' };
    }
    expect(await inferred(rows())).toBe('binary-text-classification');
    expect(await inferred(await file('a.csv', 'review,sentiment', 'a,x', '"b, c",y', 'd,z'))).toBe(
      'multiclass-text-classification',
    );
    expect(await inferred(await file('a.tsv', 'text\tlabels', 'a\tx,y', 'b\t'))).toBe('multilabel-text-classification');
    expect(await inferred(await file('a.conll', 'Ada B-PER', 'sang O', '', 'Bob B-PER'))).toBe(
      'named-entity-recognition',
    );
    expect(await inferred(await file('tags.jsonl', '{"tokens":["Ada"],"ner_tags":["B-PER"]}'))).toBe(
      'named-entity-recognition',
    );
    expect(await inferred(await file('b.csv', 'question,context', 'a?,a'))).toBe('question-answering');
  });

  it('is asked for where a comma may separate labels', async () => {
    const path = await file('many.csv', 'text,label', 'a,x', 'b,y', 'c,"x,y"');
    await expect(inferred(path)).rejects.toThrow(/the rows of many\.csv have the label "x,y".*pass `type: /);
    const table = await readRows(path, { option: 'path', isMultilabel: true });
    expect(table.checked.rows).toContainEqual({ text: 'c', labels: ['x', 'y'] });
  });

  it('is none where all rows have one label', async () => {
    await expect(inferred([{ text: 'a', label: 'x' }])).rejects.toThrow(/have the label "x"; .*two labels/);
  });

  it('has to fit what was asked for', async () => {
    const table = await readRows([{ text: 'a', label: 'x' }], { option: 'rows' });
    expect(() => typeOfRows(table, 'question-answering')).toThrow(
      /the rows have the fields text and label, which do not fit question-answering; give .* or multilabel/,
    );
  });

  it.each([
    ['customer-reviews', 'binary-text-classification'],
    ['news-entities', 'named-entity-recognition'],
    ['library-questions', 'question-answering'],
  ])('is told from the archive %s', async (name, type) => {
    const archive = fileURLToPath(new URL(`../../examples/${name}`, import.meta.url));
    expect(await typeOfArchive(archive)).toMatchObject({ type, typeIs: 'inferred' });
  });
});

describe('rows that do not fit', () => {
  it('are named by their position and field', async () => {
    const rows = JSON.parse('[{"text":"a","label":"x"},{"text":"b"},{"text":1,"label":"y"}]');
    const error = await readRows(rows, { option: 'rows' }).catch((thrown: ValidationError) => thrown);
    expect('problems' in error && error.problems.map(({ loc }) => loc)).toEqual([
      ['rows', 1, 'label'],
      ['rows', 2, 'text'],
    ]);
  });

  it('are named by their line in a file', async () => {
    const lines = ['{"tokens":["a"],"tags":["O"]}', '', '{"tokens":["a","b"],"tags":["O"]}'];
    const path = await file('broken.jsonl', ...lines);
    const error = await readRows(path, { option: 'path' }).catch((thrown: DatasetError) => thrown);
    expect(error).toMatchObject({ code: 'dataset', problems: [{ file: 'broken.jsonl', line: 3 }] });
  });

  it('say what a file has where its columns are none that are known', async () => {
    const path = await file('odd.csv', 'stars,opinion', '5,fine');
    await expect(readRows(path, { option: 'path' })).rejects.toThrow(/2 columns: "stars", "opinion".*columns/);
    const columns = { text: 'opinion', label: 'stars' };
    const { checked } = await readRows(path, { option: 'path', reading: { columns } });
    expect(checked).toEqual({ shape: 'label', rows: [{ text: 'fine', label: '5' }] });
  });

  it('are named by the line where they begin, whatever their cells hold', async () => {
    const path = await file('lines.csv', 'text,label', '"tab\t, ""quote"" and', '', 'break",x', '', 'b,y,z');
    const error = await readRows(path, { option: 'path' }).catch((thrown: DatasetError) => thrown);
    expect(error).toMatchObject({ problems: [{ line: 6, found: 'found 3 columns' }] });
    const whole = await file('whole.csv', 'text,label', '"tab\t, ""quote"" and', '', 'break",x');
    const { checked, places } = await readRows(whole, { option: 'path' });
    expect(checked.rows).toEqual([{ text: 'tab\t, "quote" and\n\nbreak', label: 'x' }]);
    expect(places?.lines).toEqual([2]);
  });

  it.each([
    ['a quote inside an unquoted cell', 'a"b,x'],
    ['text after the closing quote of a cell', '"a"b,x'],
    ['a quoted cell without a closing quote', '"a,x'],
  ])('are refused where CSV has %s', async (what, line) => {
    const path = await file('quotes.csv', 'text,label', 'a,x', line, 'b,y');
    const error = await readRows(path, { option: 'path' }).catch((thrown: DatasetError) => thrown);
    expect(error).toMatchObject({
      problems: [{ file: 'quotes.csv', line: 3, found: `found ${what}; the rest of the file was not read` }],
    });
  });

  it('are the objects of a JSON array, each with its line', async () => {
    const path = await file(
      'array.json',
      '[',
      '  { "text": "a", "label": "x" },',
      '  { "text": "b",',
      '    "label": "y" }',
      ']',
    );
    const { checked, places } = await readRows(path, { option: 'path' });
    expect(checked.rows).toHaveLength(2);
    expect(places?.lines).toEqual([2, 3]);
    const broken = await file('broken.json', '[{ "text": "a", "label": "x" },', '7,', '{ "text": "b" "label": "y" }]');
    await expect(readRows(broken, { option: 'path' })).rejects.toThrow(/broken\.json line 3.*comma expected/);
    const mixed = await file('mixed.json', '[{ "text": "a", "label": "x" },', '7]');
    await expect(readRows(mixed, { option: 'path' })).rejects.toThrow(
      /mixed\.json line 2: found 7; expected a JSON object/,
    );
  });

  it('are refused where entities overlap or end beyond the text', async () => {
    const entities = [
      { start: 0, end: 3, type: 'PER' },
      { start: 2, end: 9, type: 'LOC' },
    ];
    await expect(readRows([{ text: 'Ada', entities }], { option: 'rows' })).rejects.toThrow(
      /rows\.0\.entities\.1: 2 to 9 is not a range in a text of 3/,
    );
  });
});

describe('places of entities and tags', () => {
  const text = 'Ada Lovelace, of London-based Lovelace&Co., wrote.';
  const entities = [
    { start: 0, end: 12, type: 'PER' },
    { start: 17, end: 23, type: 'LOC' },
    { start: 30, end: 42, type: 'ORG' },
  ];

  it('cut words where an entity ends within one', () => {
    const { words, tags } = taggedSentence({ text, entities });
    const tagged = words.map((word, at) => `${word}/${tags[at]}`);
    expect(tagged.join(' ')).toContain('Ada/B-PER Lovelace/I-PER ,/O of/O London/B-LOC -based/O');
    expect(words.join('')).toBe(text.replaceAll(' ', ''));
  });

  it('may have their types as labels, as other tools write them', async () => {
    const path = await file('spans.jsonl', '{"text":"Ada sang","spans":[{"start":0,"end":3,"label":"PER"}]}');
    const { checked } = await readRows(path, { option: 'path' });
    const entities = [{ start: 0, end: 3, type: 'PER' }];
    expect(checked).toEqual({ shape: 'entities', rows: [{ text: 'Ada sang', entities }] });
  });

  it('come back from tags, each I- after another type being a new entity', () => {
    const tokens = ['Ada', 'Lovelace', 'saw', 'Rome', 'twice'];
    const tags = ['B-PER', 'I-PER', 'O', 'I-LOC', 'O'];
    expect(sentenceWithEntities({ tokens, tags })).toEqual({
      text: 'Ada Lovelace saw Rome twice',
      entities: [
        { start: 0, end: 12, type: 'PER' },
        { start: 17, end: 21, type: 'LOC' },
      ],
    });
  });
});
