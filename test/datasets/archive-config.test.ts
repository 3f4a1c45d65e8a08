import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  findConfiguredFile,
  openArchive,
  ProblemList,
  readArchiveConfig,
  splitFilesSchema,
} from '../../src/datasets/index.js';
import { anArchive } from '../support/archive-builder.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

function open(archive = anArchive()) {
  return openArchive(archive.writeTo(temporaryDirectory()));
}

describe('readArchiveConfig', () => {
  async function problemsWith(fields: Readonly<Record<string, unknown>>) {
    const problems = new ProblemList();
    await readArchiveConfig(open(anArchive().withConfig(fields)), splitFilesSchema, problems);
    return problems.toError().problems;
  }

  it('reads its fields and ignores others', async () => {
    const problems = new ProblemList();
    const archive = open(anArchive().withConfig({ TEST_FILE: '', author: 'ann' }));
    const config = await readArchiveConfig(archive, splitFilesSchema, problems);
    expect(config).toMatchObject({ desc: 'Reviews', TRAIN_FILE: 'train.tsv', TEST_FILE: '', author: 'ann' });
    expect(problems.total).toBe(0);
  });

  it.each(['DATASET_NAME', 'DATA_DIR', 'TRAIN_FILE', 'DEV_FILE'])('needs %s', async (field) => {
    expect(await problemsWith({ [field]: undefined })).toMatchObject([
      { file: 'config.json', column: field, found: 'the field is missing' },
    ]);
    expect(await problemsWith({ [field]: 5 })).toMatchObject([
      { column: field, found: 'found 5', expected: 'a string' },
    ]);
  });

  it('does without desc, which nothing reads', async () => {
    expect(await problemsWith({ desc: undefined })).toEqual([]);
    expect(await problemsWith({ desc: 5 })).toMatchObject([{ column: 'desc', found: 'found 5' }]);
  });

  it('does without TEST_FILE', async () => {
    expect(await problemsWith({ TEST_FILE: undefined })).toEqual([]);
  });

  it('reports every field that does not fit', async () => {
    expect((await problemsWith({ desc: 1, TRAIN_FILE: '' })).map(({ column }) => column)).toEqual([
      'desc',
      'TRAIN_FILE',
    ]);
  });

  it('refuses what is not an object', async () => {
    const problems = new ProblemList();
    const archive = open(anArchive().withFile('config.json', '[]'));
    expect(await readArchiveConfig(archive, splitFilesSchema, problems)).toBeUndefined();
    expect(problems.toError().message).toContain('config.json: found []; expected an object');
  });
});

describe('findConfiguredFile', () => {
  function find(archive: ReturnType<typeof anArchive>, DATA_DIR: string, name: string) {
    const problems = new ProblemList();
    const folder = open(archive);
    const config = { desc: '', DATASET_NAME: '', DATA_DIR };
    const file = findConfiguredFile(folder, config, 'TRAIN_FILE', name, problems);
    return { folder, file, problems: problems.toError().problems };
  }

  it.each([
    ['in the folder DATA_DIR', 'data', 'deep.tsv', 'data/deep.tsv'],
    ['in the folder DATA_DIR, before one beside config.json', 'data', 'train.tsv', 'data/train.tsv'],
    ['with DATA_DIR in its own path', 'data', 'data/deep.tsv', 'data/deep.tsv'],
    ['with backslashes', 'data', '.\\deep.tsv', 'data/deep.tsv'],
    ['beside config.json where DATA_DIR is no folder of the archive', 'reviews', 'dev.tsv', 'dev.tsv'],
    ['beside config.json where DATA_DIR is a path of another machine', '/home/ann/data', 'dev.tsv', 'dev.tsv'],
    ['beside config.json where DATA_DIR leads out', '../..', 'dev.tsv', 'dev.tsv'],
    ['beside config.json where DATA_DIR is empty', '', 'dev.tsv', 'dev.tsv'],
  ])('finds a file %s', (_, dataDir, name, expected) => {
    const archive = anArchive().withFile('data/train.tsv', '').withFile('data/deep.tsv', '');
    const { folder, file } = find(archive, dataDir, name);
    expect(file).toEqual({ path: join(folder.path, expected), name: expected });
  });

  it('lists the files of the archive if the named one is missing', () => {
    expect(find(anArchive(), 'reviews', 'Train.tsv').problems).toEqual([
      {
        file: 'config.json',
        column: 'TRAIN_FILE',
        found: '"Train.tsv" is not in the archive, which holds config.json, dev.tsv, label_id.json, train.tsv',
        expected: 'the name of a file in the archive',
      },
    ]);
  });

  it('never leaves the archive', () => {
    const { file, problems } = find(anArchive(), '', '../../etc/passwd');
    expect(file).toBeUndefined();
    expect(problems[0]?.found).toBe('"../../etc/passwd" is a path outside the archive');
  });

  it('does not take an absolute path for a file of the archive', () => {
    const { file, problems } = find(anArchive(), '', '/etc/passwd');
    expect(file).toBeUndefined();
    expect(problems[0]?.found).toBe('"/etc/passwd" is a path outside the archive');
  });
});
