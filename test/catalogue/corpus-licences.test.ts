import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { readCorpusRecord } from '../../models/recipes/backbones/corpus/corpus-record.js';
import { requireLicence } from '../../models/recipes/backbones/corpus/licences.js';
import { writeCorpus } from '../../models/recipes/backbones/corpus/write-corpus.js';
import { sources as english, leftOut } from '../../models/recipes/backbones/english/sources.js';
import { sources as japanese } from '../../models/recipes/backbones/japanese/sources.js';
import { WorkFolder } from '../../models/recipes/backbones/work-folder.js';

const folder = mkdtempSync(join(tmpdir(), 'orchard-licences-'));
beforeAll(() => {
  vi.spyOn(console, 'log').mockImplementation(() => {});
});
afterAll(() => rmSync(folder, { recursive: true }));

describe('the texts that backbones read', () => {
  it('all have a licence that allows every use, and somebody to credit', () => {
    for (const source of [...english, ...japanese]) expect(requireLicence(source)).toBe(source.licence);
  });

  it('are none of those that were given for research, or without a word about it', () => {
    const names = english.map(({ name }) => name);
    for (const name of ['ag_news', 'imdb', 'sst2', 'twitter_financial', 'wikiann_en', 'jigsaw_subset_robtest']) {
      expect(names).not.toContain(name);
    }
    expect(leftOut).toHaveLength(6);
  });

  it('cannot be listed under other terms', async () => {
    const source = { name: 'news', licence: 'non-commercial', credit: 'somebody' };
    expect(() => requireLicence(source)).toThrow('source news: its licence "non-commercial" isn\'t one');
    expect(() => requireLicence({ ...source, licence: 'toString' })).toThrow("isn't one");
    expect(() => requireLicence({ ...source, licence: 'MIT', credit: ' ' })).toThrow('it credits nobody');
  });
});

describe('the record of a corpus', () => {
  it('counts what each source brought that no other had brought before', async () => {
    const work = new WorkFolder(folder);
    const source = (name: string, documents: readonly string[]) =>
      ({ name, licence: 'CC0 1.0', credit: `${name}'s authors`, documents: async () => documents }) as const;
    await writeCorpus(work, {
      datasets: folder,
      sources: [source('first', ['One. Two.', 'Three.']), source('second', ['two', 'Measured.', 'Four.'])],
      measured: ['measured'],
      examples: (sentences) => sentences,
    });
    expect(readCorpusRecord(work.corpusRecord)).toEqual({
      sources: [
        {
          name: 'first',
          licence: 'CC0 1.0',
          credit: "first's authors",
          documents: 2,
          examples: 3,
          characters: 14,
        },
        {
          name: 'second',
          licence: 'CC0 1.0',
          credit: "second's authors",
          documents: 2,
          examples: 1,
          characters: 5,
        },
      ],
      examples: 4,
    });
    expect(work.readPassages().sort()).toEqual(['Four.', 'One.', 'Three.', 'Two.']);
  });
});
