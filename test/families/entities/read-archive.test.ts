import { rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { describeDatasetProblem } from '../../../src/contract/errors.js';
import { sequenceRows } from '../../../src/families/entities/rows.js';
import { ArchiveBuilder } from '../../support/archive-builder.js';
import { failureOf } from '../../support/outcomes.js';
import { temporaryDirectory } from '../../support/temporary-directory.js';

const TYPE = 'sequence-labeling';
const TAGS = ['O', 'B-PER', 'I-PER', 'B-LOC', 'I-LOC'];

/** A sound archive with both types of entities in both splits. */
function anArchive(): ArchiveBuilder {
  const config = { desc: 'Names', DATASET_NAME: 'names', DATA_DIR: 'names' };
  return new ArchiveBuilder(config, new Map())
    .withLabels(TAGS)
    .withFile('train/sentences.txt', 'Ada Lovelace saw Paris .\nNo names here\n')
    .withFile('train/tags.txt', 'B-PER I-PER O B-LOC O\nO O O\n')
    .withFile('val/sentences.txt', 'Alan in London\n')
    .withFile('val/tags.txt', 'B-PER O B-LOC\n');
}

function withTrain(sentences: string | Buffer, tags: string | Buffer): ArchiveBuilder {
  return anArchive().withFile('train/sentences.txt', sentences).withFile('train/tags.txt', tags);
}

function read(archive: ArchiveBuilder) {
  return sequenceRows.read(archive.writeTo(temporaryDirectory()), TYPE);
}

async function problemsOf(archive: ArchiveBuilder): Promise<string[]> {
  const { problems } = await failureOf('dataset', () => read(archive));
  return problems.map(describeDatasetProblem);
}

async function warningsOf(archive: ArchiveBuilder) {
  return (await read(archive)).warnings;
}

describe('a sound archive', () => {
  it('is read as words with tag ids', async () => {
    expect(await read(anArchive())).toEqual({
      tags: TAGS,
      train: [
        { words: ['Ada', 'Lovelace', 'saw', 'Paris', '.'], tags: [1, 2, 0, 3, 0] },
        { words: ['No', 'names', 'here'], tags: [0, 0, 0] },
      ],
      dev: [{ words: ['Alan', 'in', 'London'], tags: [1, 0, 3] }],
      warnings: [],
    });
  });

  it('is the same for named-entity-recognition, and nothing to other types', async () => {
    const directory = anArchive().writeTo(temporaryDirectory());
    expect(await sequenceRows.read(directory, 'named-entity-recognition')).toEqual(
      await sequenceRows.read(directory, TYPE),
    );
    await expect(sequenceRows.read(directory, 'question-answering')).rejects.toThrow(TypeError);
  });

  it('needs no config.json: label_id.json marks its folder', async () => {
    const directory = anArchive().writeTo(join(temporaryDirectory(), 'data', 'names'));
    rmSync(join(directory, 'config.json'));
    expect(await sequenceRows.read(dirname(dirname(directory)), TYPE)).toEqual(await read(anArchive()));
  });

  it.each(['desc', 'DATASET_NAME', 'DATA_DIR'])('may lack %s in config.json', async (field) => {
    expect(await read(anArchive().withConfig({ [field]: undefined }))).toEqual(await read(anArchive()));
  });

  it('may have its splits in DATA_DIR', async () => {
    const beside = anArchive();
    const inside = ['train/sentences.txt', 'train/tags.txt'].reduce((archive, name) => archive.without(name), beside);
    const moved = inside.withFile('names/train/sentences.txt', 'Eve\n').withFile('names/train/tags.txt', 'B-PER\n');
    expect((await read(moved)).train).toEqual([{ words: ['Eve'], tags: [1] }]);
  });

  it.each([
    ['a byte order mark', '\uFEFFAda left\n', '\uFEFFB-PER O\n'],
    ['CRLF', 'Ada left\r\n', 'B-PER O\r\n'],
    ['no last line break', 'Ada left', 'B-PER O'],
    ['blank lines at the end of one file', 'Ada left\n\n \n', 'B-PER O\n'],
    ['runs of spaces, and spaces at the ends', '  Ada  left ', 'B-PER   O '],
    ['tabs between words', 'Ada\tleft\n', 'B-PER\tO\n'],
  ])('may have %s', async (_, sentences, tags) => {
    expect((await read(withTrain(sentences, tags))).train).toEqual([{ words: ['Ada', 'left'], tags: [1, 0] }]);
  });

  it('keeps other spaces of Unicode within words', async () => {
    const { train } = await read(withTrain('10\u00a0000 Ada\u2028x\n', 'O B-PER\n'));
    expect(train).toEqual([{ words: ['10\u00a0000', 'Ada\u2028x'], tags: [0, 1] }]);
  });

  it('may lack the I- tag of a type', async () => {
    const tags = [...TAGS, 'B-DATE'];
    expect((await read(anArchive().withLabels(tags))).tags).toEqual(tags);
  });
});

it('needs config.json or label_id.json, once', async () => {
  const found = async (...folders: string[]) => {
    const directory = temporaryDirectory();
    for (const folder of folders) {
      anArchive().writeTo(join(directory, folder));
      rmSync(join(directory, folder, 'config.json'));
    }
    const { problems } = await failureOf('dataset', () => sequenceRows.read(directory, TYPE));
    return problems.map(describeDatasetProblem);
  };
  const expected = 'expected one folder with a config.json or label_id.json';
  expect(await found()).toEqual([`the archive: found no files; ${expected}`]);
  expect(await found('a', 'b')).toEqual([`the archive: found a/label_id.json, b/label_id.json; ${expected}`]);
});

describe('label_id.json', () => {
  it.each([
    ['no O', ['B-PER', 'I-PER', 'B-LOC', 'I-LOC'], ': the tag "O" is missing'],
    ['no entities', ['O'], ': found no tag of an entity; expected a B- tag for each entity type'],
    ['an I- without its B-', [...TAGS, 'I-ORG'], ', column 5: found "I-ORG" without "B-ORG"'],
    ['a tag of another scheme', [...TAGS, 'S-PER'], ', column 5: found "S-PER"; expected a BIO tag'],
    ['a tag in lower case', [...TAGS, 'o'], ', column 5: found "o"; expected a BIO tag'],
    ['a tag without a type', [...TAGS, 'B-'], ', column 5: found "B-"; expected a BIO tag'],
    ['a tag with a space', [...TAGS, 'B-my type'], ', column 5: found "B-my type"; expected a BIO tag'],
  ])('can not have %s', async (_, tags, problem) => {
    expect(await problemsOf(anArchive().withLabels(tags))).toContainEqual(
      expect.stringContaining(`label_id.json${problem}`),
    );
  });

  it('and config.json are both checked before the reading stops', async () => {
    const archive = anArchive().withConfig({ DATA_DIR: 5 }).withLabels(['O', 'x']);
    expect(await problemsOf(archive)).toEqual([
      'config.json, column DATA_DIR: found 5; expected a string',
      'label_id.json: found no tag of an entity; expected a B- tag for each entity type',
      'label_id.json, column 1: found "x"; expected a BIO tag: O, B-… or I-…',
    ]);
  });

  it('is checked along with the sentences', async () => {
    const archive = anArchive()
      .withLabels([...TAGS, 'x'])
      .withFile('val/tags.txt', 'B-PER O\n');
    expect((await problemsOf(archive)).map((problem) => problem.split(/[ ,:]/)[0])).toEqual([
      'label_id.json',
      'val/tags.txt',
    ]);
  });
});

describe('a sentence', () => {
  it('needs as many tags as words; sentences with other numbers are named with both counts', async () => {
    const archive = withTrain('a b c\nd e\nf\n', 'O O\nO B-PER\nO O\n').withFile('val/tags.txt', '\nO\n');
    expect(await problemsOf(archive)).toEqual([
      'train/tags.txt line 1: found 2 tags; expected 3 tags, one for each word',
      'train/tags.txt line 3: found 2 tags; expected 1 tag, one for each word',
      'val/tags.txt: found 2 lines; expected 1 line, as many as val/sentences.txt has',
      'val/tags.txt line 1: found 0 tags; expected 3 tags, one for each word',
    ]);
  });

  it('without words can not have tags, and without tags can not have words', async () => {
    expect(await problemsOf(withTrain('Ada\n\na b\nEve\n', 'B-PER\nO\n\nB-PER\n'))).toEqual([
      'train/tags.txt line 2: found 1 tag; expected 0 tags, one for each word',
      'train/tags.txt line 3: found 0 tags; expected 2 tags, one for each word',
    ]);
  });

  it('is listed if it is among the first 100, and counted in any case', async () => {
    const archive = withTrain('a b\n'.repeat(130), 'O\n'.repeat(130)).withFile('val/tags.txt', 'O\n');
    const error = await failureOf('dataset', () => read(archive));
    expect(error.problems).toHaveLength(100);
    expect(error.total).toBe(131);
  });

  it('can have tags of label_id.json only; others are named with their place', async () => {
    expect(await problemsOf(withTrain('Ada  left', 'B-ORG  o'))).toEqual([
      'train/tags.txt line 1, column 1: found the tag "B-ORG"; expected a tag of label_id.json (O, B-PER, I-PER, B-LOC, I-LOC)',
      'train/tags.txt line 1, column 8: found the tag "o"; expected a tag of label_id.json (O, B-PER, I-PER, B-LOC, I-LOC)',
    ]);
  });

  it('that is not UTF-8 is named, and the others are still checked', async () => {
    const archive = withTrain(Buffer.from('ok now\ncafé\nAda\n', 'latin1'), 'O\nO\nB-PER\n');
    expect(await problemsOf(archive)).toEqual([
      expect.stringContaining('train/sentences.txt line 2, column 4: found the byte 0xE9'),
      'train/tags.txt line 1: found 1 tag; expected 2 tags, one for each word',
    ]);
  });
});

describe('a split', () => {
  it.each(['train/sentences.txt', 'train/tags.txt', 'val/sentences.txt', 'val/tags.txt'])('needs %s', async (name) => {
    expect(await problemsOf(anArchive().without(name))).toEqual([
      expect.stringMatching(
        `^${name}: not in the archive, which holds config.json, label_id.json, .*; expected this file`,
      ),
    ]);
  });

  it.each(['', '\n \n'])('can not have files without sentences: %j', async (contents) => {
    expect(await problemsOf(withTrain(contents, contents))).toEqual([
      'train/sentences.txt: found an empty file; expected one line for each sentence',
      'train/tags.txt: found an empty file; expected one line for each sentence',
    ]);
  });

  it('needs files of the same length; what both have is still checked', async () => {
    expect(await problemsOf(withTrain('Ada\nleft town\nsoon\n', 'B-PER\nO\n'))).toEqual([
      'train/tags.txt: found 2 lines; expected 3 lines, as many as train/sentences.txt has',
      'train/tags.txt line 2: found 1 tag; expected 2 tags, one for each word',
    ]);
  });

  it('to train on must have an entity', async () => {
    expect(await problemsOf(withTrain('no names\n', 'O O\n'))).toEqual([
      'train/tags.txt: found no entity: every tag is O; expected sentences with entities',
    ]);
  });
});

describe('warnings', () => {
  const SENTENCES = 'Ada saw Paris\n';
  const SENTENCE_TAGS = 'B-PER O B-LOC\n';

  it('name I- tags that continue nothing, which are read as B-', async () => {
    const archive = withTrain(`${SENTENCES}Ada Lovelace Rome\nParis\n`, `I-PER O B-LOC\nB-PER I-PER I-LOC\nB-LOC\n`);
    const { train, warnings } = await read(archive);
    expect(train.map(({ tags }) => tags)).toEqual([[1, 0, 3], [1, 2, 3], [3]]);
    expect(warnings).toEqual([
      {
        kind: 'inside_without_begin',
        count: 2,
        message: '2 sentences have an I- tag that continues no entity; such a tag is read as B-, as in conlleval',
        examples: [
          { file: 'train/sentences.txt', line: 1 },
          { file: 'train/sentences.txt', line: 2 },
        ],
      },
    ]);
  });

  it('name lines that are empty in both files, which are left out', async () => {
    const archive = withTrain(`${SENTENCES}\n \t\nEve\n`, `${SENTENCE_TAGS}\n\nB-PER\n`);
    expect((await read(archive)).train).toHaveLength(2);
    expect(await warningsOf(archive)).toMatchObject([
      { kind: 'empty_sentence', count: 2, examples: [{ line: 2 }, { line: 3 }] },
    ]);
  });

  it('name sentences that are repeated, with the same tags or with others', async () => {
    const archive = withTrain(
      `${SENTENCES}${SENTENCES}${SENTENCES}ada saw paris\n`,
      `${SENTENCE_TAGS}O O B-LOC\n${SENTENCE_TAGS}O O O\n`,
    );
    expect(await warningsOf(archive)).toMatchObject([
      { kind: 'duplicate_row', count: 1, examples: [{ line: 3 }] },
      { kind: 'conflicting_labels', count: 1, examples: [{ line: 2 }] },
    ]);
  });

  it('name sentences in both splits', async () => {
    const archive = withTrain(`${SENTENCES}Alan in London\n`, `${SENTENCE_TAGS}O O O\n`);
    expect(await warningsOf(archive)).toMatchObject([
      { kind: 'train_row_in_dev', count: 1, examples: [{ file: 'train/sentences.txt', line: 2 }] },
    ]);
  });

  it('name types without an entity in a split', async () => {
    const archive = withTrain('Ada\n', 'B-PER\n').withFile('val/tags.txt', 'O O O\n');
    expect((await warningsOf(archive)).map(({ kind, count, message }) => [kind, count, message])).toEqual([
      ['class_without_examples', 1, 'no sentence of train has an entity of the type "LOC"'],
      ['class_without_examples', 2, 'no sentence of val has an entity of any of the types "PER", "LOC"'],
    ]);
  });
});
