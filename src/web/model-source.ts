import {
  isDiskFailure,
  ModelDownloadError,
  ModelFolderError,
  messageOf,
  StorageError,
  ValidationError,
} from '../contract/index.js';
import type { ReadModelFile } from '../inference/index.js';
import { readModelFile } from '../models/index.js';

/** The contents of a file. */
export type FileContent = Uint8Array | ArrayBuffer | Blob;

/**
 * Where to read a model from. A URL or, in Node.js, a path leads to a file that `orchard export --for web` wrote or,
 * with a slash at its end, to a model's folder; in Node.js, the path of a folder needs no slash. A `Blob` or `File`,
 * bytes, or a stream of bytes are the content of such a file. An object has the files of a model's folder by their
 * names, such as `onnx/model_quantized.onnx`.
 */
export type ModelSource = string | URL | Blob | ArrayBuffer | Uint8Array | ReadableStream<Uint8Array> | ModelFiles;

/** The files of a model's folder, by their names. */
export interface ModelFiles {
  readonly [name: string]: FileContent;
}

interface Options {
  readonly signal: AbortSignal | undefined;
}

export interface OpenedSource {
  /** For messages. */
  readonly name: string;
  readonly read: ReadModelFile;
}

/** @throws ValidationError for another value, ModelFolderError, ModelDownloadError, StorageError */
export async function openSource(source: ModelSource, options: Options): Promise<OpenedSource> {
  if (typeof source === 'string' || isUrl(source)) return openPlace(String(source), options);
  if (isBytes(source)) return inOneFile([copyOf(source)], 'the given bytes');
  if (isStream(source)) return inOneFile(chunksOf(source, options), 'the given stream');
  if (isBlob(source)) return inOneFile(chunksOf(source.stream(), options), nameOf(source));
  if (typeof source === 'object' && source !== null) return inObject(source);
  throw refusal('give a URL, a path, a Blob, bytes, a stream, or an object of files');
}

async function openPlace(place: string, options: Options): Promise<OpenedSource> {
  const url = urlOf(place);
  if (url !== undefined) {
    if (url.pathname.endsWith('/'))
      return { name: place, read: (name) => fetchBytes(place, new URL(name, url), options, name) };
    return inOneFile(fetchChunks(place, url, options), place);
  }
  const files = nodeFiles();
  if (files === undefined)
    throw refusal(`${JSON.stringify(place)} is not a URL, and paths work only in Node.js; give a URL`);
  return files(place);
}

/** What only some places have. */
const host: {
  readonly performance: unknown;
  readonly location?: unknown;
  readonly process?: { readonly platform?: string; getBuiltinModule?(name: string): unknown };
} = globalThis;

/** Relative to the page, where there is one. Undefined for a path. */
function urlOf(place: string): URL | undefined {
  const { location } = host;
  const base = location === undefined ? undefined : String(location);
  const isPath = nodeFiles() !== undefined && !/^(?:https?|data|blob):/iu.test(place);
  if (isPath || !URL.canParse(place, base)) return undefined;
  return new URL(place, base);
}

/** @throws ModelDownloadError, also while the body is read */
async function* fetchChunks(
  model: string,
  url: URL,
  { signal }: Options,
  file?: string,
): AsyncGenerator<Uint8Array, void> {
  const failed = (reason: string, more: object) =>
    new ModelDownloadError(model, url.href, reason, { ...(file !== undefined && { file }), ...more });
  let response: Response;
  try {
    response = await fetch(url, signal === undefined ? {} : { signal });
  } catch (cause) {
    throw failed(messageOf(cause), { cause });
  }
  const { ok, body, status } = response;
  if (!ok || body === null) throw failed(`the server answered ${status}`, { status });
  try {
    yield* chunksOf(body, { signal });
  } catch (cause) {
    throw failed(`the connection ended early: ${messageOf(cause)}`, { cause });
  }
}

async function fetchBytes(model: string, url: URL, options: Options, name: string): Promise<Uint8Array> {
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  for await (const chunk of fetchChunks(model, url, options, name)) chunks.push(new Uint8Array(chunk));
  return new Uint8Array(await new Blob(chunks).arrayBuffer());
}

async function inOneFile(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  name: string,
): Promise<OpenedSource> {
  const files = await readModelFile(chunks, name);
  return { name, read: async (file) => files.get(file) ?? missing(file) };
}

function inObject(files: ModelFiles): OpenedSource {
  const read = async (name: string) => {
    const content = Object.hasOwn(files, name) ? files[name] : undefined;
    if (isBytes(content)) return copyOf(content);
    if (isBlob(content)) return new Uint8Array(await content.arrayBuffer());
    throw missing(name);
  };
  return { name: 'the given files', read };
}

function missing(name: string): never {
  throw new ModelFolderError(name, 'the file is missing');
}

/** Safari has no async iterator of streams. A stream that is not read to its end is cancelled, at once by the signal. */
async function* chunksOf(stream: ReadableStream<Uint8Array>, { signal }: Options): AsyncGenerator<Uint8Array, void> {
  const reader = stream.getReader();
  const cancel = () => void reader.cancel().catch(() => undefined); // ends the read that is under way
  signal?.addEventListener('abort', cancel);
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    signal?.removeEventListener('abort', cancel);
    await reader.cancel();
    reader.releaseLock();
  }
}

/** The part of Node's file system that is used. */
interface FileSystem {
  readonly promises: {
    readFile(path: string): Promise<Uint8Array>;
    stat(path: string): Promise<{ isDirectory(): boolean }>;
  };
}

/**
 * How paths are read in Node, Bun and Deno; undefined in other places. Asked for at run time: an import, even one that never
 * runs, would stop bundlers for browsers.
 */
function nodeFiles(): ((path: string) => Promise<OpenedSource>) | undefined {
  const fs = host.process?.getBuiltinModule?.('node:fs');
  if (!isFileSystem(fs)) return undefined;
  const { readFile, stat } = fs.promises;
  return async (place) => {
    const isFile = await attempt(place, async () => !(await stat(pathOf(place))).isDirectory());
    if (isFile) return inOneFile([await attempt(place, () => readFile(pathOf(place)))], place);
    const folder = pathOf(place).replace(/[/\\]+$/u, '');
    return { name: place, read: (name) => attempt(name, () => readFile(`${folder}/${name}`)) };
  };
}

function pathOf(place: string): string {
  if (!place.startsWith('file:')) return place;
  const path = decodeURIComponent(new URL(place).pathname);
  // file:///C:/models has the path /C:/models.
  return host.process?.platform === 'win32' ? path.slice(1) : path;
}

async function attempt<Value>(file: string, work: () => Promise<Value>): Promise<Value> {
  try {
    return await work();
  } catch (cause) {
    const reason = messageOf(cause);
    if (isDiskFailure(cause)) throw new StorageError(`${file}: ${reason}`, { cause });
    throw new ModelFolderError(file, reason, { cause });
  }
}

function isFileSystem(value: unknown): value is FileSystem {
  return typeof value === 'object' && value !== null && 'promises' in value;
}

/** Of any realm. */
const kindOf = (value: unknown): string => Object.prototype.toString.call(value).slice(8, -1);

const isUrl = (value: unknown): value is URL => kindOf(value) === 'URL';
const isBytes = (value: unknown): value is ArrayBuffer | Uint8Array =>
  ArrayBuffer.isView(value) || kindOf(value) === 'ArrayBuffer';
const isStream = (value: unknown): value is ReadableStream<Uint8Array> =>
  typeof value === 'object' && value !== null && 'getReader' in value;
const isBlob = (value: unknown): value is Blob => ['Blob', 'File'].includes(kindOf(value));

/** The caller may change them later. */
function copyOf(bytes: ArrayBuffer | Uint8Array): Uint8Array {
  if (!ArrayBuffer.isView(bytes)) return new Uint8Array(bytes).slice();
  return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength).slice();
}

const nameOf = (blob: Blob): string => ('name' in blob && typeof blob.name === 'string' ? blob.name : 'the given Blob');

function refusal(msg: string): ValidationError {
  return new ValidationError([{ loc: ['source'], msg, type: 'invalid_source' }]);
}
