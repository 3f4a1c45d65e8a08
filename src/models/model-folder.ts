import { createHash, randomUUID } from 'node:crypto';
import {
  closeSync,
  constants,
  createReadStream,
  createWriteStream,
  existsSync,
  fstatSync,
  openSync,
  readdirSync,
  statSync,
} from 'node:fs';
import { cp, mkdir, mkdtemp, readdir, rename, rm, rmdir } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { types } from 'node:util';
import { isError, ModelFolderError, missingPermission, ValidationError } from '../contract/index.js';
import {
  deleteUnseen,
  FileLocks,
  failedWith,
  fileWithin,
  missingWriteFlag,
  nearestExisting,
  requirePath,
  temporaryRoot,
  writeFailure,
} from '../system/index.js';
import {
  CONFIG_FILE,
  MAX_CONFIG_BYTES,
  MAX_FILE_BYTES,
  MAX_TOKENIZER_BYTES,
  ONNX_FILE,
  QUANTIZED_ONNX_FILE,
  readFolderFile,
  readJsonText,
  TOKENIZER_CONFIG_FILE,
  TOKENIZER_FILE,
  TRAINING_FILE,
  WEIGHTS_FILE,
  withFile,
} from './folder-files.js';
import { type ModelFolderConfig, readConfig } from './model-config.js';
import { type NamedTensor, safetensorsPieces } from './safetensors.js';

interface ModelFolder {
  readonly config: ModelFolderConfig;
  readonly tokenizer: unknown;
  readonly tokenizerConfig: unknown;
  /** Absent in an encoder for inference only, whose graph has the weights. */
  readonly weights?: ReadonlyMap<string, NamedTensor>;
  /** The inference graph, whole or in pieces. Absent where the one with 8-bit weights is enough. */
  readonly onnx?: Uint8Array | Iterable<Uint8Array>;
  /** The graph with 8-bit weights. */
  readonly quantizedOnnx?: Uint8Array | Iterable<Uint8Array>;
  /** By name, including those of `config.orchard.files`. */
  readonly files: ReadonlyMap<string, Uint8Array | string>;
  /** Any JSON value. Absent if nothing was trained. */
  readonly training?: unknown;
}

/** The graph is loaded from its path. */
interface OpenedModelFolder {
  readonly config: ModelFolderConfig;
  readonly tokenizer: unknown;
  readonly tokenizerConfig: unknown;
  /** The text of both tokenizer files: equal ones can share a tokenizer. */
  readonly tokenizerKey: string;
  readonly onnxPath: string;
  /** The files of `config.orchard.files`, by name. */
  readonly files: ReadonlyMap<string, OpenedFile>;
}

interface OpenedFile {
  readonly bytes: Uint8Array;
  /** Its path, for errors. */
  readonly file: string;
}

/** Creates the directory if it is missing. @throws ModelFolderError */
export async function writeModelFolder(directory: string, folder: ModelFolder): Promise<void> {
  const files: Readonly<Record<string, string | Uint8Array | Iterable<Uint8Array>>> = {
    [CONFIG_FILE]: toJson(folder.config),
    [TOKENIZER_FILE]: toJson(folder.tokenizer),
    [TOKENIZER_CONFIG_FILE]: toJson(folder.tokenizerConfig),
    ...(folder.training !== undefined && { [TRAINING_FILE]: toJson(folder.training) }),
    ...(folder.weights && { [WEIGHTS_FILE]: safetensorsPieces(folder.weights) }),
    ...(folder.onnx && { [ONNX_FILE]: folder.onnx }),
    ...(folder.quantizedOnnx && { [QUANTIZED_ONNX_FILE]: folder.quantizedOnnx }),
    ...Object.fromEntries(folder.files),
  };
  // One by one, so that after a failure no file is still being written.
  for (const [name, content] of Object.entries(files)) {
    const file = join(directory, name);
    await withFile(file, async () => {
      await mkdir(dirname(file), { recursive: true });
      const isWhole = typeof content === 'string' || types.isUint8Array(content);
      // Not writeFile, since the one of Yarn's Plug'n'Play accepts no pieces.
      await pipeline(isWhole ? [content] : content, createWriteStream(file));
    });
  }
}

/** @throws ModelFolderError */
export async function openModelFolder(directory: string): Promise<OpenedModelFolder> {
  const [config, tokenizer, tokenizerConfig] = await Promise.all([
    readConfig(directory),
    readJsonText(directory, TOKENIZER_FILE, MAX_TOKENIZER_BYTES),
    readJsonText(directory, TOKENIZER_CONFIG_FILE, MAX_CONFIG_BYTES),
  ]);
  const files = await Promise.all(
    config.orchard.files.map(async (name): Promise<[string, OpenedFile]> => {
      return [name, { bytes: await readFolderFile(directory, name), file: join(directory, name) }];
    }),
  );
  const graph = config.orchard.graph ?? ONNX_FILE;
  const onnxPath = join(directory, graph);
  await withFile(onnxPath, async () => fileWithin(directory, graph, MAX_FILE_BYTES));
  return {
    config,
    tokenizer: tokenizer.json,
    tokenizerConfig: tokenizerConfig.json,
    tokenizerKey: `${tokenizer.text}\n${tokenizerConfig.text}`,
    onnxPath,
    files: new Map(files),
  };
}

function toJson(value: unknown): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}

interface FolderKind {
  /** A file that is in every such folder. */
  readonly marker: string;
  /** What the marker is, for messages. */
  readonly noun: string;
}

/** @throws ValidationError unless the folder is missing, empty or of the same kind */
async function requireReplaceable(folder: string, { marker, noun }: FolderKind, option: string): Promise<void> {
  requirePath(folder, option);
  const names = await namesIn(resolve(folder), option);
  if (names.length === 0 || names.includes(marker)) return;
  const listed = names.slice(0, 3).join(', ');
  const msg = `${folder} has ${listed}${names.length > 3 ? ', …' : ''}, but no ${noun}; give a new or empty folder`;
  throw new ValidationError([{ loc: [option], msg, type: 'not_empty' }]);
}

/** Tries it: on some file systems, permissions say nothing. @param folder as it was given */
async function requireWritable(folder: string, option: string): Promise<void> {
  const parent = await nearestExisting(dirname(resolve(folder)));
  try {
    await rmdir(await mkdtemp(join(parent, '.orchard-')));
  } catch (thrown) {
    const flag = await missingWriteFlag(resolve(folder), thrown);
    const code = isError(thrown) && 'code' in thrown ? `: ${thrown.code}` : '';
    const msg = flag
      ? `${folder} can't be written: Node.js runs with --permission; add ${flag}`
      : `${folder} can't be written (no folder can be created in ${parent}${code}); give a writable folder`;
    throw new ValidationError([{ loc: [option], msg, type: 'not_writable' }]);
  }
}

/** How long a training run waits for another one that writes the same folder, which may just be ending. */
const CLAIM_MS = 1000;

/**
 * Runs work that writes a folder at its end, so that it is not in vain: nothing else that claims the folder on this
 * machine runs at the same time.
 * @param option names the folder in errors.
 * @throws ValidationError before the work, as `requireReplaceable`, or if the folder can't be written or is claimed
 */
export async function claimFolder<Value>(
  folder: string,
  kind: FolderKind,
  option: string,
  work: () => Promise<Value>,
): Promise<Value> {
  await requireReplaceable(folder, kind, option);
  await requireWritable(folder, option);
  const name = `orchard-output-${createHash('sha256').update(resolve(folder)).digest('hex').slice(0, 32)}`;
  const signal = AbortSignal.timeout(CLAIM_MS);
  let isClaimed = false;
  const directory = await temporaryRoot();
  const claimed = new FileLocks(directory, directory).hold(
    name,
    () => {
      isClaimed = true;
      return work();
    },
    { signal },
  );
  return claimed.catch((thrown: unknown) => {
    if (isClaimed || !signal.aborted) throw thrown;
    const msg = `another training run will write to ${folder}; wait until it ends, or give another folder`;
    throw new ValidationError([{ loc: [option], msg, type: 'in_use' }]);
  });
}

async function namesIn(directory: string, option: string): Promise<string[]> {
  try {
    return await readdir(directory);
  } catch (thrown) {
    if (failedWith(thrown, 'ENOENT')) return [];
    if (!failedWith(thrown, 'ENOTDIR')) throw thrown;
    const msg = `${directory} is a file; give a folder`;
    throw new ValidationError([{ loc: [option], msg, type: 'not_a_folder' }]);
  }
}

/** Fills a draft, then renames it. @param option names the folder in errors. @throws ValidationError, StorageError */
export async function writeFolder(
  folder: string,
  kind: FolderKind,
  write: (directory: string) => Promise<void>,
  option = 'folder',
): Promise<void> {
  const target = requirePath(folder, option);
  await requireReplaceable(target, kind, option);
  const sibling = (role: string) => join(dirname(target), `.${basename(target)}.${role}-${randomUUID()}`);
  const [made, earlier] = [sibling('new'), sibling('old')];
  try {
    await mkdir(made, { recursive: true });
    await write(made);
    await rename(target, earlier).catch((thrown: unknown) => {
      if (!failedWith(thrown, 'ENOENT')) throw thrown;
    });
    await rename(made, target);
    await rm(earlier, { recursive: true, force: true });
  } catch (thrown) {
    await deleteUnseen(made);
    const isOfSystem = isError(thrown) && ('syscall' in thrown || missingPermission(thrown) !== undefined);
    throw isOfSystem ? await writeFailure(target, thrown) : thrown;
  }
}

export async function moveInto(source: string, directory: string): Promise<void> {
  await rm(directory, { recursive: true });
  await rename(source, directory).catch(async (thrown: unknown) => {
    if (!failedWith(thrown, 'EXDEV')) throw thrown;
    await copyInto(source, directory); // the other one is on another disk
    await rm(source, { recursive: true });
  });
}

export async function copyInto(source: string, directory: string): Promise<void> {
  await cp(source, directory, { recursive: true, dereference: true });
}

/** The files of a model's folder, which are in the folder itself and in that of the graphs. */
const MODEL_FILE = /\.(?:json|safetensors|onnx|md|txt|py)$/u;
/** What loading reads. */
const LOADED_FILE = /(?:^(?:config|tokenizer|tokenizer_config|passages|rules)\.json|\.safetensors|\.onnx)$/u;
const PLACES = ['', dirname(ONNX_FILE)];

/** All at once, here and below: a first answer waits. @throws the file system's error */
function filesOf(directory: string, pattern: RegExp): string[] {
  return PLACES.flatMap((place) => {
    const isPlain = place === '';
    const names = isPlain || existsSync(join(directory, place)) ? readdirSync(join(directory, place)) : [];
    return names.filter((name) => pattern.test(name)).map((name) => (isPlain ? name : `${place}/${name}`));
  }).sort();
}

export interface FolderState {
  /** Changes when another model replaces the folder, and when a file that loading reads is written again. */
  readonly version: string;
  /** Changes when any file of the model does, even if its date is set back, and when a file gets a second link. */
  readonly stamp: string;
}

/** Empty texts for a folder that isn't there, or is being replaced. */
export function folderState(directory: string, pattern = MODEL_FILE): FolderState {
  try {
    const files = ['', ...filesOf(directory, pattern)].map((name) => {
      const { ino, size, mtimeNs, ctimeNs } = statSync(join(directory, name), { bigint: true });
      // The date of the folder itself changes with any file in it.
      return name === ''
        ? { name, version: `${ino}`, ctimeNs: 0 }
        : { name, version: `${name} ${ino} ${size} ${mtimeNs}`, ctimeNs };
    });
    const loaded = files.filter(({ name }) => name === '' || LOADED_FILE.test(name));
    return {
      version: loaded.map(({ version }) => version).join(),
      stamp: files.map(({ version, ctimeNs }) => `${version} ${ctimeNs}`).join(),
    };
  } catch {
    return { version: '', stamp: '' };
  }
}

export function folderVersion(directory: string): string {
  return folderState(directory, LOADED_FILE).version;
}

/** The files that all snapshots of a process keep open: a process may open a thousand or more. */
const MOST_HELD = 400;
let held = 0;

/**
 * The files of a model's folder as they are now, kept open: they can be read after another model has replaced the folder.
 * Windows would refuse to replace a folder whose files are open, so nothing is kept there.
 */
export class FolderSnapshot {
  readonly #files: { readonly name: string; readonly file: number; readonly mark: string }[] = [];

  /** Keeps nothing if a file can't be kept. */
  constructor(directory: string) {
    try {
      const names = process.platform === 'win32' ? [] : filesOf(directory, MODEL_FILE);
      if (held + names.length <= MOST_HELD) for (const name of names) this.#keep(directory, name);
    } catch {
      this.close();
    }
  }

  /**
   * Writes the files into a folder, which is made if it is missing.
   * @param names default: all
   * @returns false if the snapshot doesn't have the files as they were
   */
  async copyInto(directory: string, names?: readonly string[]): Promise<boolean> {
    if (this.#files.length === 0) return false;
    for (const { name, file, mark } of this.#files) {
      if (names !== undefined && !names.includes(name)) continue;
      const target = join(directory, name);
      await mkdir(dirname(target), { recursive: true });
      await pipeline(createReadStream('', { fd: file, start: 0, autoClose: false }), createWriteStream(target));
      if (markOf(file) !== mark) return false;
    }
    return true;
  }

  close(): void {
    for (const { file } of this.#files.splice(0)) {
      held -= 1;
      closeSync(file);
    }
  }

  #keep(directory: string, name: string): void {
    const { path } = fileWithin(directory, name, MAX_FILE_BYTES);
    const file = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    held += 1;
    this.#files.push({ name, file, mark: markOf(file) });
  }
}

/** Not its ctime, which changes when the file is deleted. */
function markOf(file: number): string {
  const { size, mtimeNs } = fstatSync(file, { bigint: true });
  return `${size} ${mtimeNs}`;
}

export function changedFolder(directory: string): ModelFolderError {
  return new ModelFolderError(directory, 'it has changed since the model was loaded; load the model again');
}

/** How often a folder is read again that is replaced while it is read. */
const MOST_READINGS = 20;
const READING_PAUSE_MS = 5;

/**
 * What was read of a folder that `writeFolder` may replace meanwhile: all of it is of one model. Reads again where the folder
 * changed, or was away for the moment between the two renames.
 * @param read given the folder's version
 * @param discard what was read of two models
 * @throws what `read` throws; ModelFolderError if the folder changes all the time
 */
export async function readUnchanged<Value>(
  directory: string,
  read: (version: string) => Promise<Value>,
  discard: (value: Value) => Promise<void>,
): Promise<{ readonly value: Value; readonly version: string }> {
  for (let reading = 1; ; reading += 1) {
    const version = folderVersion(directory);
    try {
      const value = await read(version);
      if (folderVersion(directory) === version) return { value, version };
      await discard(value);
      if (reading === MOST_READINGS) throw changedFolder(directory);
    } catch (thrown) {
      if (reading === MOST_READINGS || !(await isBeingReplaced(directory, version))) throw thrown;
    }
    await delay(reading * READING_PAUSE_MS);
  }
}

async function isBeingReplaced(directory: string, version: string): Promise<boolean> {
  if (folderVersion(directory) !== version) return true;
  const names = await readdir(dirname(directory)).catch(() => []);
  return names.some((name) => name.startsWith(`.${basename(directory)}.old-`));
}
