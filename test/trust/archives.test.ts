import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { isOrchardError } from '../../src/contract/errors.js';
import type { ModelType } from '../../src/contract/index.js';
import { unzip } from '../../src/datasets/index.js';
import { classificationRows } from '../../src/families/classification/rows.js';
import { sequenceRows } from '../../src/families/entities/rows.js';
import type { FamilyRows } from '../../src/families/family.js';
import { retrievalRows } from '../../src/families/retrieval/rows.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { type ArchiveFiles, mutated, zipped } from './mutated-archives.js';

/**
 * Mutated archives of all families: each is a typed error or a dataset that can be trained on, soon and within bounded
 * memory, and writes nothing outside its folder. FUZZ_ARCHIVES says how many, FUZZ_SEED which; default 100.
 */

const ARCHIVES = Number(process.env.FUZZ_ARCHIVES ?? 100);
const SEED = Number(process.env.FUZZ_SEED ?? 1);
/** Most time of the processor for one archive. What hangs without any meets the timeout of the test. */
const MAX_MICROSECONDS = 20e6;
/** What reading one archive after another may add to the process's memory. */
const MAX_GROWTH_BYTES = 1024 ** 3;

interface Kind {
  readonly type: ModelType;
  readonly rows: FamilyRows;
  readonly files: ArchiveFiles;
}

const json = (value: unknown) => JSON.stringify(value, undefined, 1);
const asFiles = (files: Readonly<Record<string, string>>): ArchiveFiles =>
  new Map(Object.entries(files).map(([name, text]) => [name, Buffer.from(text)]));
const range = (count: number) => Array.from({ length: count }, (_, at) => at);

const rowsOf = (count: number) =>
  [
    'sentence\tlabel',
    ...range(count).map((at) => `text number ${at * 31} is ${at % 2 ? 'good' : 'bad'}\t${at % 2}`),
    '',
  ].join('\n');
const passages = range(6).map((at) => `Passage ${at} says that thing ${at * 17} is here.`);
const questionsOf = (count: number) =>
  json(
    Object.fromEntries(
      range(count).map((at) => [at, { question: `where is thing ${at * 17}?`, context: passages[at % 6] }]),
    ),
  );
const split = { DATASET_NAME: 'x', DATA_DIR: '.', TRAIN_FILE: 'train.tsv', DEV_FILE: 'dev.tsv' };

const kinds: readonly Kind[] = [
  {
    type: 'binary-text-classification',
    rows: classificationRows,
    files: asFiles({
      'config.json': json({
        ...split,
        field_names: ['sentence', 'label'],
        field_header: 0,
        NUM_CLASS_LABELS: 1,
      }),
      'label_id.json': json({ 0: 'bad', 1: 'good' }),
      'train.tsv': rowsOf(40),
      'dev.tsv': rowsOf(8),
    }),
  },
  {
    type: 'sequence-labeling',
    rows: sequenceRows,
    files: asFiles({
      'label_id.json': json({ 0: 'O', 1: 'B-PER', 2: 'I-PER' }),
      'train/sentences.txt': range(20)
        .map((at) => `Ada Lovelace saw ${at} ships .`)
        .join('\n'),
      'train/tags.txt': range(20)
        .map(() => 'B-PER I-PER O O O O')
        .join('\n'),
      'val/sentences.txt': 'Bob slept .\n',
      'val/tags.txt': 'B-PER O O\n',
    }),
  },
  {
    type: 'question-answering',
    rows: retrievalRows,
    files: asFiles({
      'config.json': json({ ...split, TRAIN_FILE: 'train.json', DEV_FILE: 'dev.json', TEST_FILE: '' }),
      'label_id.json': json(Object.fromEntries(passages.map((passage, id) => [id, passage]))),
      'train.json': questionsOf(20),
      'dev.json': questionsOf(6),
    }),
  },
];

/** Unpacks and reads an archive as training does. @returns the code of the error, or `read`. */
async function outcomeOf({ type, rows }: Kind, zip: Buffer, root: string): Promise<string> {
  const place = join(root, 'place');
  await mkdir(place, { recursive: true });
  const path = join(place, 'dataset.zip');
  await writeFile(path, zip);
  try {
    await unzip(path, join(place, 'dataset'));
    const dataset = await rows.read(join(place, 'dataset'), type);
    expect(dataset.train.length).toBeGreaterThan(0);
    return 'read';
  } catch (thrown) {
    if (!isOrchardError(thrown)) throw thrown;
    return thrown.code;
  } finally {
    expect(await readdir(root)).toEqual(['place']);
    expect((await readdir(place)).filter((name) => !['dataset', 'dataset.zip'].includes(name))).toEqual([]);
    await rm(place, { recursive: true });
  }
}

describe('a mutated archive', () => {
  it('is the sound one of its family to begin with', async () => {
    for (const kind of kinds)
      expect(await outcomeOf(kind, await zipped(kind.files), temporaryDirectory())).toBe('read');
  });

  it(`is read or refused with a typed error, ${ARCHIVES} times`, {
    timeout: 120_000 + 1000 * ARCHIVES,
  }, async () => {
    const root = temporaryDirectory();
    const before = process.memoryUsage.rss();
    const seen = new Map<string, number>();
    for (const at of range(ARCHIVES)) {
      const number = SEED * 1_000_000 + at;
      const kind = kinds[at % kinds.length];
      if (kind === undefined) continue;
      const zip = await mutated(kind.files, number);
      const startedAt = process.cpuUsage();
      const outcome = await outcomeOf(kind, zip, root).catch((thrown: unknown) => {
        throw new Error(`archive ${number} of ${kind.type}`, { cause: thrown });
      });
      const { user, system } = process.cpuUsage(startedAt);
      expect(user + system, `archive ${number} of ${kind.type}`).toBeLessThan(MAX_MICROSECONDS);
      seen.set(outcome, (seen.get(outcome) ?? 0) + 1);
    }
    // Neither are all refused, nor do all get through: the mutations reach what they are for.
    expect([...seen.keys()].sort()).toEqual(['dataset', 'read']);
    expect(process.memoryUsage.rss() - before).toBeLessThan(MAX_GROWTH_BYTES);
  });
});
