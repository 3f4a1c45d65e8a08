import { describe, expect, it } from 'vitest';
import { openArchive, ProblemList, readLabelIds } from '../../src/datasets/index.js';
import { anArchive } from '../support/archive-builder.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

async function read(archive = anArchive()) {
  const problems = new ProblemList();
  const folder = openArchive(archive.writeTo(temporaryDirectory()));
  const labels = await readLabelIds(folder, problems, { most: 12 });
  return { labels, problems: problems.toError().problems };
}

function readJson(json: string) {
  return read(anArchive().withFile('label_id.json', json));
}

describe('readLabelIds', () => {
  it('gives the labels in the order of their ids', async () => {
    const { labels, problems } = await readJson(
      '{"1": "b", "10": "k", "0": "a", "2": "c", "3": "d", "4": "e", "5": "f", "6": "g", "7": "h", "8": "i", "9": "j"}',
    );
    expect(labels).toEqual([...'abcdefghijk']);
    expect(problems).toEqual([]);
  });

  it.each([
    ['an id that is not a whole number', '{"0": "a", "x": "b"}', 'found the id "x"'],
    ['an id with a leading zero', '{"0": "a", "01": "b"}', 'found the id "01"'],
    ['a negative id', '{"0": "a", "-1": "b"}', 'found the id "-1"'],
    ['ids that start at 1', '{"1": "a", "2": "b"}', 'the id 0 is missing'],
    ['a gap between ids', '{"0": "a", "2": "b"}', 'the id 1 is missing'],
    ['a label that is a number', '{"0": 5, "1": "b"}', 'found 5'],
    ['an empty label', '{"0": "", "1": "b"}', 'found ""'],
    ['a blank label', '{"0": " \\t", "1": "b"}', 'found " \\t"'],
    ['a label of two ids', '{"0": "a", "1": "a"}', 'found "a", which is also the label of id 0'],
    ['no label at all', '{}', 'found {}'],
    ['an array', '["a", "b"]', 'found ["a","b"]'],
  ])('refuses %s', async (_, json, found) => {
    const { labels, problems } = await readJson(json);
    expect(labels).toBeUndefined();
    expect(problems).toMatchObject([{ file: 'label_id.json', found }]);
  });

  it('names the id of a label as the column', async () => {
    expect((await readJson('{"0": "a", "1": null}')).problems[0]?.column).toBe('1');
  });

  it('names line and column of a syntax error', async () => {
    const { labels, problems } = await readJson('{\n  "0": "a",\n  "1" "b"\n}');
    expect(labels).toBeUndefined();
    expect(problems).toEqual([
      { file: 'label_id.json', line: 3, column: 7, found: 'colon expected at "\\"b\\""', expected: 'JSON' },
    ]);
  });

  it.each([
    ['a trailing comma', '{"0": "a",}', 1, 11],
    ['a comment', '{\n// labels\n"0": "a"}', 2, 1],
    ['a missing end', '{"0": "a"', 1, 10],
    ['single quotes', "{'0': 'a'}", 1, 2],
    ['an empty file', '', 1, 1],
  ])('names the place of %s', async (_, json, line, column) => {
    expect((await readJson(json)).problems).toMatchObject([{ line, column, expected: 'JSON' }]);
  });

  it('reports an id that is given twice, of which JSON.parse would keep the last', async () => {
    const { labels, problems } = await readJson('{\n  "0": "a",\n  "0": "b"\n}');
    expect(labels).toBeUndefined();
    expect(problems).toMatchObject([{ line: 3, column: 3, found: 'found the key "0" a second time' }]);
  });

  it('does not take the same key in different objects for a repetition', async () => {
    const { problems } = await readJson('{"0": {"x": 1}, "1": {"x": 1}}');
    expect(problems.map(({ found }) => found)).toEqual(['found {"x":1}', 'found {"x":1}']);
  });

  it('lists the files of the archive if it is missing', async () => {
    const { problems } = await read(anArchive().without('label_id.json').withFile('labels.json', '{}'));
    expect(problems[0]?.found).toBe('not in the archive, which holds config.json, dev.tsv, labels.json, train.tsv');
  });

  it('refuses more labels than a model may have, and says how many', async () => {
    const labels = Object.fromEntries(Array.from({ length: 1234 }, (_, id) => [id, `label ${id}`]));
    const { problems } = await readJson(JSON.stringify(labels));
    expect(problems).toEqual([{ file: 'label_id.json', found: 'found 1,234 labels', expected: 'at most 12' }]);
  });
});
