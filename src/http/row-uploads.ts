import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import type { ResultAsync } from 'neverthrow';
import { DatasetError, describeDatasetProblem, type OrchardError } from '../contract/index.js';
import {
  classificationTypes,
  createClassificationArchive,
  createRetrievalArchive,
  createSequenceArchive,
  sequenceTypes,
} from '../families/index.js';
import { type BodyLimits, saveBody } from './body.js';
import { invalid, Refusal } from './refusal.js';

/** The name of a file of rows, percent-encoded, and the type of model that it is for. */
const FILE_NAME_HEADER = 'x-file-name';
const MODEL_TYPE_HEADER = 'x-model-type';

/** A file of rows is read into memory as a whole; larger datasets fit in a zip. */
const MAX_ROWS_BYTES = 16 * 2 ** 20;
/** UTF-16 code units of a file name. */
const MAX_NAME = 200;

const TABLES = ['.csv', '.tsv', '.jsonl', '.ndjson', '.json'];
const COLUMNS = ['.conll', '.txt', '.tsv', '.bio', '.iob'];

/** Whether the body of a request is a file of rows. */
export function hasRows({ headers }: Request): boolean {
  return (headers.get('content-type') ?? '').split(';')[0]?.trim() === 'text/plain';
}

/**
 * Makes a dataset zip from the body of a request: CSV, TSV or JSON Lines with texts or questions, or CoNLL columns.
 * @throws Refusal 422 with every problem of the file, under the client's name for it
 */
export async function saveRows(request: Request, path: string, limits: BodyLimits): Promise<void> {
  const name = fileNameOf(request);
  const type = request.headers.get(MODEL_TYPE_HEADER) ?? '';
  const write = writerFor(type, extname(name).toLowerCase());
  const folder = await mkdtemp(join(tmpdir(), 'orchard-rows-'));
  try {
    await mkdir(join(folder, 'rows'));
    const source = join(folder, 'rows', name);
    const maxBodyBytes = Math.min(MAX_ROWS_BYTES, limits.maxBodyBytes);
    await saveBody(request, source, { ...limits, maxBodyBytes });
    const written = await write({ name: 'upload', rows: { path: source } }, path);
    if (written.isErr()) throw refusalOfRows(written.error);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

interface ArchiveOptions {
  /** The folder in the zip. */
  readonly name: string;
  readonly rows: { readonly path: string };
}

/** @throws Refusal */
function writerFor(
  type: string,
  extension: string,
): (options: ArchiveOptions, path: string) => ResultAsync<unknown, OrchardError> {
  const classification = classificationTypes.find((each) => each === type);
  const isSequence = sequenceTypes.some((each) => each === type);
  if (classification === undefined && !isSequence && type !== 'question-answering') {
    const msg = `${type} is not a type of model`;
    throw invalid([{ loc: ['header', MODEL_TYPE_HEADER], msg, type: 'model_type' }]);
  }
  const known = isSequence ? COLUMNS : TABLES;
  if (!known.includes(extension)) {
    const msg = `a file for this type of model ends in ${known.join(', ')}, or is a zip; this one ends in ${extension || 'nothing'}`;
    throw invalid([{ loc: ['body'], msg, type: 'file_type' }]);
  }
  if (isSequence) return createSequenceArchive;
  if (classification === undefined) return createRetrievalArchive;
  return (options, path) => createClassificationArchive({ ...options, type: classification }, path);
}

/** The client's name of the file, as a valid name here. @throws Refusal */
function fileNameOf({ headers }: Request): string {
  let name = headers.get(FILE_NAME_HEADER) ?? '';
  try {
    name = decodeURIComponent(name);
  } catch {
    // not encoded
  }
  name = name.replace(/[/\\\p{Cc}]/gu, '_').slice(-MAX_NAME);
  if (!/^\.*$/.test(name)) return name;
  const msg = 'give the name of the file, percent-encoded';
  throw invalid([{ loc: ['header', FILE_NAME_HEADER], msg, type: 'missing' }]);
}

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
