import { readFile, stat } from 'node:fs/promises';
import { clearTimeout, setTimeout } from 'node:timers';
import { deserialize, serialize } from 'node:v8';
import type { MessagePort } from 'node:worker_threads';
import {
  AbortedError,
  DatasetError,
  describeError,
  type ErrorDescription,
  InternalError,
  reviveError,
  toOrchardError,
} from '../contract/index.js';
import { isPauseDue, ownFile, pause, SourceReader, startThread } from '../system/index.js';

/**
 * Reads, checks and writes many rows in a thread of its own, so that the application's thread only hands over what it has in
 * memory, in small pieces. What few rows need is less than to start a thread, so those are read in the caller's.
 */

/** Options that may be rows in memory. */
const ROWS = ['rows', 'devRows', 'dev', 'passages'];

/** What a task of the thread has: options as plain data, but for {@link ROWS}, which are handed over, and a signal. */
interface RowsTask {
  readonly options: object;
}

/** What the work in a thread is limited by. */
export interface RowsThreadLimits {
  readonly signal?: AbortSignal | undefined;
  /** Most bytes of memory that its objects may take. Default: as Node.js limits threads. */
  readonly memoryLimit?: number | undefined;
  /** Default: no limit. */
  readonly timeoutMs?: number | undefined;
}

interface RowsThreadOptions extends RowsThreadLimits {
  /** What is done, in words: an AbortedError names it. */
  readonly doing: string;
  /** What the rows are called in messages. */
  readonly origin: string;
}

interface SomeRows {
  readonly type: 'rows';
  readonly name: string;
  readonly some: readonly unknown[];
}

type ToRowsThread<Task> = SomeRows | { readonly type: 'work'; readonly task: Task };

type FromRowsThread =
  | { readonly type: 'done'; readonly result: unknown }
  | { readonly type: 'failed'; readonly error: ErrorDescription };

/**
 * Does a task of {@link serveRows} in a new thread, which ends with it.
 * @throws what the task throws; AbortedError as soon as the signal fires; DatasetError for rows that exceed a limit; what the
 * iterators of the rows throw
 */
export async function inRowsThread<Task extends RowsTask, Result>(
  task: Task,
  { doing, origin, signal, memoryLimit, timeoutMs }: RowsThreadOptions,
): Promise<Result> {
  const aborted = () => new AbortedError(doing, { cause: signal?.reason });
  if (signal?.aborted) throw aborted();
  const tooLarge = (found: string) =>
    new DatasetError([{ file: origin, found, expected: 'fewer rows or shorter texts' }]);
  const heap = memoryLimit === undefined ? undefined : Math.max(SMALLEST_HEAP, Math.floor(memoryLimit / 2 ** 20));
  const worker = startThread(workerUrl(), { ...(heap && { resourceLimits: { maxOldGenerationSizeMb: heap } }) });
  const stop = new AbortController();
  const outcome = new Promise<Result>((resolve, reject) => {
    worker.on('message', (message: { type: 'done'; result: Result } | Extract<FromRowsThread, { type: 'failed' }>) => {
      if (message.type === 'done') resolve(message.result);
      else reject(reviveError(message.error));
    });
    worker.on('error', (error) => {
      const isFull = 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY';
      const limit = memoryLimit === undefined ? 'this process has' : `${Math.floor(memoryLimit / 2 ** 20)} MiB`;
      reject(isFull ? tooLarge(`found rows that take more memory than ${limit}`) : error);
    });
    worker.once('exit', () => reject(new InternalError(`${doing}: its thread ended without a result`)));
    signal?.addEventListener('abort', () => reject(aborted()), { once: true, signal: stop.signal });
    if (timeoutMs === undefined) return;
    const late = () => reject(tooLarge(`found rows that take longer than ${timeoutMs / 1000} s to read`));
    const timer = setTimeout(late, timeoutMs);
    stop.signal.addEventListener('abort', () => clearTimeout(timer));
  });
  outcome.catch(() => undefined); // it is awaited once the rows are handed over
  const send = (message: ToRowsThread<Task>) => worker.postMessage(message);
  try {
    const options = { ...task.options };
    Reflect.deleteProperty(options, 'signal');
    for (const name of ROWS) {
      const rows: unknown = Reflect.get(options, name);
      if (!areRows(rows)) continue;
      Reflect.deleteProperty(options, name);
      await Promise.race([hand(name, rows, send, stop.signal), failureOf(outcome)]);
    }
    send({ type: 'work', task: { ...task, options } });
    return await outcome;
  } finally {
    stop.abort();
    await worker.terminate(); // it has not loaded ONNX Runtime
  }
}

/** In MiB: less would not even load what reads. */
const SMALLEST_HEAP = 64;

/** Never fulfilled: a result comes only after the work was sent. */
async function failureOf(outcome: Promise<unknown>): Promise<never> {
  await outcome;
  return new Promise(() => undefined);
}

/**
 * The built entry point of the thread, which is in the folder of every built file of this package.
 * @throws InstallationError in a bundle without it.
 */
function workerUrl(): URL {
  const sibling = () => new URL(/* webpackIgnore: true */ './rows-worker.js', import.meta.url);
  return ownFile('rows-worker.js', sibling);
}

/** Rows of one message. */
const MOST_SENT = 200;

async function hand(
  name: string,
  rows: Iterable<unknown> | AsyncIterable<unknown>,
  send: (message: { type: 'rows'; name: string; some: readonly unknown[] }) => void,
  signal: AbortSignal,
): Promise<void> {
  let some: unknown[] = [];
  let isFirst = true;
  const flush = () => {
    try {
      send({ type: 'rows', name, some });
    } catch {
      send({ type: 'rows', name, some: some.map(plainRow) });
    }
    some = [];
  };
  for await (const row of rows) {
    some.push(fieldsOfRow(row, isFirst));
    isFirst = false;
    if (some.length < MOST_SENT && !isPauseDue()) continue;
    flush();
    await pause(signal);
  }
  flush();
}

/** All that any kind of row may have. */
const FIELDS = [
  ...[
    'text',
    'text2',
    'label',
    'labels',
    'weight',
    'tokens',
    'words',
    'tags',
    'entities',
    'doubts',
    'question',
    'passage',
    'passages',
    'context',
  ],
];

/** A row without what nothing reads, which may be large or no plain data. Of the first row, messages name all fields. */
function fieldsOfRow(row: unknown, isFirst: boolean): unknown {
  if (typeof row !== 'object' || row === null || Array.isArray(row)) return row;
  const fields: Record<string, unknown> = isFirst ? Object.fromEntries(Object.keys(row).map((key) => [key, null])) : {};
  for (const name of FIELDS) if (name in row) fields[name] = Reflect.get(row, name);
  return fields;
}

/** A row whose fields can be sent: a proxy as its target, anything else that can't be sent as null, which no row may have. */
function plainRow(row: unknown): unknown {
  if (typeof row !== 'object' || row === null) return typeof row === 'function' ? null : row;
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, plain(value)]));
}

function plain(value: unknown): unknown {
  try {
    return structuredClone(value);
  } catch {
    // JSON reads through a proxy.
  }
  try {
    const json = JSON.stringify(value);
    return json === undefined ? null : JSON.parse(json);
  } catch {
    return null;
  }
}

/** Answers {@link inRowsThread} in the thread that it starts. */
export function serveRows<Task extends RowsTask>(port: MessagePort, work: (task: Task) => Promise<unknown>): void {
  const given = new Map<string, unknown[]>();
  const answer = async (task: Task): Promise<FromRowsThread> => {
    try {
      for (const [name, rows] of given) Reflect.set(task.options, name, rows);
      return { type: 'done', result: await work(task) };
    } catch (thrown) {
      return { type: 'failed', error: describeError(toOrchardError(thrown, 'reading rows')) };
    }
  };
  port.on('message', (message: ToRowsThread<Task>) => {
    if (message.type === 'work') void answer(message.task).then((outcome) => port.postMessage(outcome));
    else {
      const all = given.get(message.name) ?? [];
      given.set(message.name, all);
      for (const row of message.some) all.push(row);
    }
  });
}

/** Rows as bytes that threads share: who receives them takes none of them apart. */
export function packRows(rows: readonly unknown[]): readonly Uint8Array[] {
  const packed: Uint8Array[] = [];
  for (let from = 0; from < rows.length; from += MOST_SENT) {
    const bytes = serialize(rows.slice(from, from + MOST_SENT));
    const shared = new Uint8Array(new SharedArrayBuffer(bytes.length));
    shared.set(bytes);
    packed.push(shared);
  }
  return packed;
}

/** The rows that {@link packRows} was given, a few at a time. */
export function unpackedRows<Row>(packed: readonly Uint8Array[]): Iterable<Row> {
  return {
    *[Symbol.iterator]() {
      for (const some of packed) {
        const rows: readonly Row[] = deserialize(some);
        yield* rows;
      }
    },
  };
}

/** More rows than this go to a thread, and so do larger files: less is read before a thread has started. */
const FEW_ROWS = 500;
const FEW_CHARACTERS = 2 ** 18;
const SMALL_FILE_BYTES = 2 ** 15;

interface FewRows<Options> {
  readonly options: Options;
  readonly areFew: boolean;
}

/**
 * Finds out whether all rows of some options are few, and passes the options with what was read of them for that: few rows as
 * an array, others as they come, until the signal fires. Closes what was not read to its end when the work is done.
 * @param doing in words: an AbortedError names it.
 * @throws AbortedError as soon as the signal fires; what the iterators of the rows and the work throw
 */
export async function withFewRows<Options extends object, Result>(
  options: Options,
  { doing, signal }: { readonly doing: string; readonly signal: AbortSignal | undefined },
  work: (few: FewRows<Options>) => Promise<Result>,
): Promise<Result> {
  const held = { ...options };
  let areFew = true;
  const begun: SourceReader<unknown>[] = [];
  try {
    for (const name of ROWS) {
      const rows: unknown = Reflect.get(held, name);
      if (typeof rows === 'string') areFew &&= await isSmallFile(rows);
      else if (hasPath(rows)) areFew &&= await isSmallFile(rows.path);
      else if (Array.isArray(rows) && rows.length > FEW_ROWS) areFew = false;
      else if (areRows(rows)) {
        const reader = new SourceReader(rows, { doing, signal });
        begun.push(reader);
        const all = await allIfFew(reader);
        Reflect.set(held, name, all ?? reader);
        areFew &&= all !== undefined;
      }
    }
    return await work({ options: held, areFew });
  } finally {
    await Promise.all(begun.map((reader) => reader.return()));
  }
}

function areRows(value: unknown): value is Iterable<unknown> | AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && (Symbol.iterator in value || Symbol.asyncIterator in value);
}

function hasPath(value: unknown): value is { readonly path: string } {
  return typeof value === 'object' && value !== null && 'path' in value && typeof value.path === 'string';
}

/** Whether a file is so small that its rows are few. Gzip may hide many. What can't be read is left to its reader. */
export async function isSmallFile(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  if (found?.isDirectory() === true) return false;
  if (found?.isFile() !== true) return true;
  if (found.size > SMALL_FILE_BYTES) return false;
  const [first, second] = await readFile(path).catch(() => Buffer.of());
  return !(first === 0x1f && second === 0x8b);
}

/** Reads as many rows as may be few. @returns them if they are all; otherwise, the reader gives them again */
async function allIfFew(reader: SourceReader<unknown>): Promise<readonly unknown[] | undefined> {
  const first: unknown[] = [];
  let characters = 0;
  while (first.length <= FEW_ROWS && characters <= FEW_CHARACTERS) {
    const next = await reader.next();
    if (next.done === true) return first;
    first.push(next.value);
    characters += charactersOf(next.value);
  }
  reader.putBack(first);
  return undefined;
}

function charactersOf(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 1;
  let sum = 0;
  for (const each of Object.values(value)) sum += charactersOf(each);
  return sum;
}
