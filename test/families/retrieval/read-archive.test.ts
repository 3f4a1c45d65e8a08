import { describe, expect, it } from 'vitest';
import { describeDatasetProblem } from '../../../src/contract/errors.js';
import { retrievalRows } from '../../../src/families/retrieval/rows.js';
import type { ArchiveBuilder } from '../../support/archive-builder.js';
import { failureOf } from '../../support/outcomes.js';
import { temporaryDirectory } from '../../support/temporary-directory.js';
import { aRetrievalArchive, entries, PASSAGES, questions } from './retrieval-archive-builder.js';

function read(archive: ArchiveBuilder) {
  return retrievalRows.read(archive.writeTo(temporaryDirectory()), 'question-answering');
}

async function problemsOf(archive: ArchiveBuilder): Promise<string[]> {
  const { problems } = await failureOf('dataset', () => read(archive));
  return problems.map(describeDatasetProblem);
}

async function warningsOf(archive: ArchiveBuilder) {
  return (await read(archive)).warnings;
}

const withTrain = (contents: string) => aRetrievalArchive().withFile('train.json', contents);
const QUESTION = { question: 'Where is Paris?', context: PASSAGES[0] };

describe('a sound archive', () => {
  it('gives every passage, and each question with the index of its own', async () => {
    expect(await read(aRetrievalArchive())).toEqual({
      passages: PASSAGES,
      train: [
        { question: 'Where is Paris?', passage: 0 },
        { question: 'Where is Rome?', passage: 1 },
      ],
      dev: [{ question: 'Where is Oslo?', passage: 2 }],
      warnings: [],
    });
  });

  it('may list its questions in any order; they are read by index', async () => {
    const archive = withTrain(
      `{"1": ${JSON.stringify({ ...QUESTION, question: 'second' })}, "0": ${JSON.stringify(QUESTION)}}`,
    );
    expect((await read(archive)).train[1]?.question).toBe('second');
  });

  it('may hold 20,000 passages', async () => {
    const passages = Array.from({ length: 20_000 }, (_, id) => `passage ${id}`);
    const rows = passages.map((context) => ({ question: `where is ${context}?`, context }));
    const archive = aRetrievalArchive()
      .withLabels(passages)
      .withFile('train.json', entries(...rows))
      .withFile('dev.json', entries(rows[5]));
    const { train } = await read(archive);
    expect(train[19_999]?.passage).toBe(19_999);
  });
});

describe('an archive that can not be trained on', () => {
  it.each([
    [
      'a context that is not a passage',
      entries({ ...QUESTION, context: 'Paris' }),
      'train.json line 2, column 0.context: found "Paris", which is not a passage of label_id.json; expected one of its passages, character for character',
    ],
    [
      'an empty question',
      entries(QUESTION, { ...QUESTION, question: ' ' }),
      'train.json line 3, column 1.question: found an empty text; expected a text that is not blank',
    ],
    [
      'an empty context',
      entries({ ...QUESTION, context: '' }),
      'train.json line 2, column 0.context: found an empty text; expected a text that is not blank',
    ],
    [
      'half a surrogate pair',
      entries({ ...QUESTION, question: '\uD83D' }),
      'train.json line 2, column 0.question: found half a surrogate pair; expected whole characters',
    ],
    [
      'a question that is a number',
      entries({ ...QUESTION, question: 5 }),
      'train.json line 2, column 0.question: found 5; expected a string',
    ],
    [
      'a missing context',
      entries({ question: 'why?' }),
      'train.json line 2, column 0.context: the field is missing; expected a string',
    ],
    [
      'an entry that is a text',
      entries('why?'),
      'train.json line 2, column 0: found "why?"; expected an object with question and context, both strings',
    ],
    [
      'a gap between indices',
      `{"0": ${JSON.stringify(QUESTION)}, "2": ${JSON.stringify(QUESTION)}}`,
      'train.json: the id 1 is missing; expected ids from 0 without gaps',
    ],
    [
      'an index that is no number',
      `{"first": ${JSON.stringify(QUESTION)}}`,
      'train.json: found the id "first"; expected a whole number',
    ],
    [
      'an index twice',
      `{"0": ${JSON.stringify(QUESTION)},\n"0": ${JSON.stringify(QUESTION)}}`,
      'train.json line 2, column 1: found the key "0" a second time; expected each key once',
    ],
    [
      'no questions',
      '{}',
      'train.json: found {}; expected an object that maps "0", "1", … to objects with question and context',
    ],
    [
      'an array',
      '[]',
      'train.json: found []; expected an object that maps "0", "1", … to objects with question and context',
    ],
  ])('lists %s', async (_, train, problem) => {
    expect(await problemsOf(withTrain(train))).toEqual([problem]);
  });

  it('lists passages that occur twice in label_id.json', async () => {
    expect(await problemsOf(aRetrievalArchive().withLabels([...PASSAGES, PASSAGES[0]]))).toEqual([
      'label_id.json, column 3: found "Paris is in France.", which is also the passage of id 0; expected each passage once',
    ]);
  });

  it('lists empty passages and gaps of label_id.json', async () => {
    const archive = aRetrievalArchive().withFile('label_id.json', '{"0": " ", "2": "Rome is in Italy."}');
    expect(await problemsOf(archive)).toEqual([
      'label_id.json: the id 1 is missing; expected ids from 0 without gaps',
      'label_id.json, column 0: found " "; expected a passage',
    ]);
  });

  it('is refused if it has a single passage, since there is nothing to choose from', async () => {
    const archive = aRetrievalArchive()
      .withLabels([PASSAGES[0]])
      .withFile('train.json', questions(['a?', 0]))
      .withFile('dev.json', questions(['b?', 0]));
    expect(await problemsOf(archive)).toEqual([
      'label_id.json: found 1 passage; expected at least two passages to choose from',
    ]);
  });

  it('lists the problems of all files at once, even of questions whose passages are unknown', async () => {
    const archive = withTrain(entries({ ...QUESTION, question: '' }))
      .withFile('dev.json', entries({ ...QUESTION, question: 7 }))
      .without('label_id.json');
    expect((await problemsOf(archive)).map((problem) => problem.split(/[ :]/)[0])).toEqual([
      'label_id.json',
      'train.json',
      'dev.json',
    ]);
  });

  it('lists a hundred problems and counts the rest', async () => {
    const rows = Array.from({ length: 250 }, () => ({ ...QUESTION, question: '' }));
    const error = await failureOf('dataset', () => read(withTrain(entries(...rows))));
    expect(error.problems).toHaveLength(100);
    expect(error.total).toBe(250);
  });

  it('names files that config.json names and the archive lacks', async () => {
    expect((await problemsOf(aRetrievalArchive().without('dev.json')))[0]).toContain('config.json, column DEV_FILE');
  });
});

describe('a warning', () => {
  it('names questions of train that occur twice, case and spacing aside', async () => {
    const archive = withTrain(questions(['Where is Paris?', 0], ['Where is Rome?', 1], ['where  is paris?', 0]));
    expect(await warningsOf(archive)).toEqual([
      {
        kind: 'duplicate_row',
        count: 1,
        message: '1 question of train repeats an earlier one (ignoring case and spacing)',
        examples: [{ file: 'train.json', line: 4 }],
      },
    ]);
  });

  it('does not warn of a question that two passages answer', async () => {
    expect(await warningsOf(withTrain(questions(['Where?', 0], ['Where?', 1])))).toEqual([]);
  });

  it('names questions that are in both splits', async () => {
    const archive = withTrain(questions(['Where is Paris?', 0], ['where is OSLO?', 2], ['Where is Rome?', 1]));
    expect(await warningsOf(archive)).toEqual([
      {
        kind: 'train_row_in_dev',
        count: 1,
        message: '1 question of train is also in dev, so the metrics on dev are too high',
        examples: [{ file: 'train.json', line: 3 }],
      },
    ]);
  });

  it('names the fields that are not read, and counts the questions with them in both splits', async () => {
    const archive = withTrain(
      entries({ ...QUESTION, answer: 'x', id: 7 }, { ...QUESTION, question: 'Where is Rome?' }),
    ).withFile('dev.json', entries({ question: 'Where is Oslo?', context: PASSAGES[2], id: 8 }));
    expect(await warningsOf(archive)).toContainEqual({
      kind: 'unknown_field',
      count: 2,
      message: '2 questions have fields that are not read: "answer", "id"',
      examples: [
        { file: 'train.json', line: 2 },
        { file: 'dev.json', line: 2 },
      ],
    });
  });

  it('names the first of many fields', async () => {
    const rows = Array.from({ length: 9 }, (_, at) => ({ ...QUESTION, question: `${at}?`, [`x${at}`]: 1 }));
    const [warning] = (await warningsOf(withTrain(entries(...rows)))).filter(({ kind }) => kind === 'unknown_field');
    expect(warning?.message).toBe(
      '9 questions have fields that are not read: "x0", "x1", "x2", "x3", "x4", "x5" and 3 more',
    );
  });

  it('counts passages that no question asks for; they are searched all the same', async () => {
    const [warning, ...others] = await warningsOf(withTrain(questions(['Where is Paris?', 0])));
    expect(warning).toMatchObject({ kind: 'passage_without_question', count: 1 });
    expect(others).toEqual([]);
  });
});
