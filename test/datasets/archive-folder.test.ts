import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openArchive } from '../../src/datasets/index.js';
import { failureOf } from '../support/outcomes.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

/** A directory with empty files of these paths. */
function directoryWith(...paths: string[]): string {
  const directory = temporaryDirectory();
  for (const path of paths) {
    mkdirSync(join(directory, path, '..'), { recursive: true });
    writeFileSync(join(directory, path), '');
  }
  return directory;
}

describe('openArchive', () => {
  it.each([
    ['at the top', ''],
    ['one level deep', 'reviews'],
    ['several levels deep', 'data/v2/reviews'],
  ])('finds the folder of config.json %s', (_, folder) => {
    const directory = directoryWith(join(folder, 'config.json'), join(folder, 'train/sentences.txt'));
    expect(openArchive(directory)).toEqual({
      path: join(directory, folder),
      files: ['config.json', 'train/sentences.txt'],
    });
  });

  it('does not have files beside the folder', () => {
    const directory = directoryWith('README.md', 'reviews/config.json', 'reviews2/train.tsv');
    expect(openArchive(directory).files).toEqual(['config.json']);
  });

  it('skips what operating systems leave', () => {
    const directory = directoryWith('a/config.json', '__MACOSX/a/config.json', 'a/.DS_Store', 'a/._config.json');
    expect(openArchive(directory).files).toEqual(['config.json']);
  });

  it('does not follow links', () => {
    const outside = directoryWith('secret.txt');
    const directory = directoryWith('config.json');
    symlinkSync(outside, join(directory, 'folder'));
    symlinkSync(join(outside, 'secret.txt'), join(directory, 'train.tsv'));
    expect(openArchive(directory).files).toEqual(['config.json']);
  });

  it.each([
    ['no config.json', ['a/train.tsv', 'a/dev.tsv'], 'found no config.json among a/dev.tsv, a/train.tsv'],
    ['only one of another case', ['a/Config.json'], 'found no config.json among a/Config.json'],
    ['several', ['a/config.json', 'b/config.json'], 'found a/config.json, b/config.json'],
    ['nothing', [], 'found no files'],
  ])('says what it found if there is %s', async (_, files, found) => {
    const error = await failureOf('dataset', () => openArchive(directoryWith(...files)));
    expect(error.problems).toEqual([{ file: 'the archive', found, expected: 'one folder with a config.json' }]);
  });

  it('reports a directory that can not be read as a problem', async () => {
    const absent = join(temporaryDirectory(), 'absent');
    const { message } = await failureOf('dataset', () => openArchive(absent));
    expect(message).toContain("the archive: it can't be read");
  });
});
