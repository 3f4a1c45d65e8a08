import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import type { ResultAsync } from 'neverthrow';
import { DatasetError, describeDatasetProblem, type OrchardError } from '../errors.js';
import {
  classificationTypes,
  createClassificationArchive,
  createRetrievalArchive,
  createSequenceArchive,
  sequenceTypes,
} from '../families/index.js';
import type { BodyLimits } from './body.js';
import { saveBody } from './body.js';
import { invalid, Refusal } from './refusal.js';

/** The content-type of a file of rows. */
export const ROWS_TYPE = 'text/plain';
/** What a file of rows is called, percent-encoded, and the type of model that it is for. */
export const FILE_NAME_HEADER = 'x-file-name';
export const MODEL_TYPE_HEADER = 'x-model-type';

/** Bytes of a file of rows: it is read into memory as a whole, and a zip has the room. */
const MAX_ROWS_BYTES = 16 * 2 ** 20;
/** UTF-16 code units of a file's name. */
const MAX_NAME = 200;

const TABLES = ['.csv', '.tsv', '.jsonl', '.ndjson', '.json'];
const COLUMNS = ['.conll', '.txt', '.tsv', '.bio', '.iob'];

/** Whether the body of a request is a file of rows, and no zip. */
export function hasRows({ headers }: Request): boolean {
  return (headers.get('content-type') ?? '').split(';')[0]?.trim() === ROWS_TYPE;
}

/**
 * Makes the zip of a dataset out of a request's body: a CSV, TSV or JSON Lines file of texts or questions, or one in
 * CoNLL's columns.
 * @returns the bytes of the body. @throws Refusal 422 with all that is wrong in the file, under the name that it has at
 *   the sender's
 */
export async function saveRows(request: Request, path: string, limits: BodyLimits): Promise<number> {
  const name = nameIn(request);
  const type = request.headers.get(MODEL_TYPE_HEADER) ?? '';
  const write = writerOf(type, extname(name).toLowerCase());
  const folder = await mkdtemp(join(tmpdir(), 'orchard-rows-'));
  try {
    await mkdir(join(folder, 'rows'));
    const source = join(folder, 'rows', name);
    const maxBodyBytes = Math.min(MAX_ROWS_BYTES, limits.maxBodyBytes);
    const bytes = await saveBody(request, source, { ...limits, maxBodyBytes });
    const written = await write(source, path);
    if (written.isErr()) throw refusalOfRows(written.error);
    return bytes;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

type Write = (source: string, path: string) => ResultAsync<unknown, OrchardError>;

/** @throws Refusal */
function writerOf(type: string, extension: string): Write {
  const classification = classificationTypes.find((each) => each === type);
  const isSequence = sequenceTypes.some((each) => each === type);
  if (classification === undefined && !isSequence && type !== 'question-answering') {
    throw invalid([
      { loc: ['header', MODEL_TYPE_HEADER], msg: `${type} is no type of model`, type: 'model_type' },
    ]);
  }
  const known = isSequence ? COLUMNS : TABLES;
  if (!known.includes(extension)) {
    const msg = `a file for this type of model ends in ${known.join(', ')}, or is a zip; this one ends in ${extension || 'nothing'}`;
    throw invalid([{ loc: ['body'], msg, type: 'file_type' }]);
  }
  if (isSequence)
    return (source, path) => createSequenceArchive({ name: NAME, rows: { path: source } }, path);
  if (classification === undefined) {
    return (source, path) => createRetrievalArchive({ name: NAME, rows: { path: source } }, path);
  }
  return (source, path) =>
    createClassificationArchive({ type: classification, name: NAME, rows: { path: source } }, path);
}

/** The folder in the zip: nobody sees it. */
const NAME = 'upload';

/** The sender's name of the file, as far as a file here can have it. @throws Refusal */
function nameIn({ headers }: Request): string {
  const written = headers.get(FILE_NAME_HEADER) ?? '';
  const name = decoded(written)
    .replace(/[/\\\p{Cc}]/gu, '_')
    .slice(-MAX_NAME);
  if (!/^\.*$/.test(name)) return name;
  const msg = 'give the name of the file, percent-encoded';
  throw invalid([{ loc: ['header', FILE_NAME_HEADER], msg, type: 'missing' }]);
}

function decoded(written: string): string {
  try {
    return decodeURIComponent(written);
  } catch {
    return written;
  }
}

/** Every problem of the file, in one refusal. */
function refusalOfRows(error: OrchardError): unknown {
  if (!(error instanceof DatasetError)) return error;
  const listed = error.problems.map((problem) => `in ${describeDatasetProblem(problem)}`);
  const unlisted = error.total - listed.length;
  const all = unlisted > 0 ? [...listed, `and ${unlisted.toLocaleString('en-US')} more`] : listed;
  return new Refusal(
    422,
    all.map((msg) => ({ loc: ['body'], msg, type: 'dataset' })),
  );
}
