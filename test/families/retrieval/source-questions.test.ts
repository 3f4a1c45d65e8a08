import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { describeDatasetProblem } from '../../../src/contract/errors.js';
import { unzip } from '../../../src/datasets/index.js';
import { createRetrievalArchive, type QuestionFile } from '../../../src/families/index.js';
import { retrievalRows } from '../../../src/families/retrieval/rows.js';
import { temporaryDirectory } from '../../support/temporary-directory.js';

/** Question archives out of files. */

const DEV = [{ question: 'Where is Oslo?', context: 'Oslo is in Norway.' }];

function create(name: string, contents: string, options: Partial<QuestionFile> = {}) {
  const directory = temporaryDirectory();
  const path = join(directory, name);
  writeFileSync(path, contents);
  const output = join(directory, 'capitals.zip');
  const rows = { path, ...options };
  return { output, result: createRetrievalArchive({ name: 'capitals', rows, devRows: DEV }, output) };
}

/** What training reads of an archive made of a file. */
async function roundTrip(...given: Parameters<typeof create>) {
  const { output, result } = create(...given);
  (await result)._unsafeUnwrap();
  const directory = temporaryDirectory();
  await unzip(output, directory);
  const { passages, train } = await retrievalRows.read(directory, 'question-answering');
  return train.map(({ question, passage }) => [question, passages[passage]]);
}

describe('a question archive of a file', () => {
  const rows = [
    ['Where is Paris?', 'Paris is in France.'],
    ['Where is Rome?', 'Rome is in "Italy", they say.'],
  ];

  it.each([
    [
      'CSV with quotes',
      'in.csv',
      'question,context\nWhere is Paris?,Paris is in France.\nWhere is Rome?,"Rome is in ""Italy"", they say."\n',
    ],
    [
      'TSV with further columns',
      'in.tsv',
      'id\tcontext\tquestion\n1\tParis is in France.\tWhere is Paris?\n2\tRome is in "Italy", they say.\tWhere is Rome?\n',
    ],
    [
      'JSON Lines with a blank one',
      'in.jsonl',
      `${rows.map(([question, context]) => JSON.stringify({ context, question })).join('\n\n')}\n`,
    ],
  ])('has its rows: %s', async (_, name, contents) => {
    expect(await roundTrip(name, contents)).toEqual(rows);
  });

  it('reads columns with other names, and a format that the file name does not show', async () => {
    const options = { format: 'tsv', questionColumn: 'q', contextColumn: 'answer' } as const;
    expect(await roundTrip('in.txt', 'answer\tq\nRome is in Italy.\tWhere is Rome?\n', options)).toEqual([
      ['Where is Rome?', 'Rome is in Italy.'],
    ]);
  });

  it.each([
    [
      'no column of passages',
      'in.csv',
      'question,reply\na?,b\n',
      'in.csv line 1: found CSV with 2 columns: "question", "reply"; expected the columns question and passage; if yours have other names, choose the columns (`columns: { question: "question", passage: "reply" }`)',
    ],
    [
      'columns in another language',
      'in.csv',
      'frage,antwort\nWas?,Das ist es doch.\n',
      'in.csv line 1: found CSV with 2 columns: "frage", "antwort"; expected the columns question and passage; if yours have other names, choose the columns (`columns: { question: "frage", passage: "antwort" }`)',
    ],
    [
      'a row with a tab too many',
      'in.tsv',
      'question\tcontext\na?\tb\nc?\td\te\n',
      'in.tsv line 3: found 3 columns; expected 2 columns as in the header',
    ],
    [
      'a question that is no string',
      'in.jsonl',
      '{"question":"a?","context":"b"}\n{"question":7,"context":"b"}\n',
      'in.jsonl line 2, column question: found 7; expected a string',
    ],
    [
      'a passage that is missing',
      'in.jsonl',
      '{"question":"a?","context":"b"}\n{"question":"a?"}\n',
      'in.jsonl line 2, column context: found undefined; expected a string',
    ],
    [
      'an empty passage below one of two lines',
      'in.csv',
      'question,context\na?,"b\nc"\nd?,\n',
      'in.csv line 4, column context: found an empty text; expected a text that is not blank',
    ],
    ['a header alone', 'in.csv', 'question,context\n', 'in.csv: found CSV without rows; expected at least one row'],
  ])('is not written if there is %s; the line is named', async (_, name, contents, problem) => {
    const { output, result } = create(name, contents);
    const error = (await result)._unsafeUnwrapErr();
    expect(error.code === 'dataset' && error.problems.map(describeDatasetProblem)).toEqual([problem]);
    expect(existsSync(output)).toBe(false);
  });

  it('is not written if there is no file, which is named once', async () => {
    const rows = { path: join(temporaryDirectory(), 'gone.csv') };
    const error = (await createRetrievalArchive({ name: 'x', rows }, 'x.zip'))._unsafeUnwrapErr();
    expect(error.code === 'dataset' && error.problems).toMatchObject([{ file: 'gone.csv' }]);
  });
});
