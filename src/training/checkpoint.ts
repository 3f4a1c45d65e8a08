import { createHash, randomUUID } from 'node:crypto';
import { mkdir, readdir, realpath, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isDiskFailure, isError, ModelFolderError, StorageError } from '../contract/index.js';
import {
  type Aggregation,
  CONFIG_FILE,
  type FoundModel,
  isDirectory,
  MAX_CONFIG_BYTES,
  pulledModels,
  readJsonText,
} from '../models/index.js';
import { TemporaryDirectory } from '../system/index.js';
import type { CopiedWeights } from './convert-folder.js';

/**
 * Fine-tuned checkpoints of transformers, which inference runs as model folders: each is converted once, and kept in the
 * folder of pulled models. What converts them is loaded when it is needed.
 */

/** How a checkpoint is asked. */
export interface CheckpointReading {
  /** How labels of tokens become entities. Default: `first` where the tokenizer marks the tokens that continue a word. */
  readonly aggregation?: Aggregation | undefined;
  /** Default `float32`. */
  readonly weights?: CopiedWeights | undefined;
}

export interface AskableModel extends FoundModel {
  /** The folder that it was converted from. */
  readonly checkpoint?: string;
}

/** Changes with what {@link askableFolder} writes. */
const CONVERSION = 1;
/** Which files a conversion reads. */
const READ =
  /^(?:config\.json|tokenizer\.json|tokenizer_config\.json|vocab\.txt|model.*\.safetensors(?:\.index\.json)?)$/u;

/**
 * @returns the model itself if it is a model folder; the converted folder of a checkpoint, whose classifier is by the
 *   checkpoint's own labels.
 * @throws ModelFolderError for a checkpoint that can't be asked, which says why
 */
export async function askableFolder(found: FoundModel, reading: CheckpointReading = {}): Promise<AskableModel> {
  const { directory } = found;
  const { json } = await readJsonText(directory, CONFIG_FILE, MAX_CONFIG_BYTES);
  if (!isCheckpoint(json)) return found;
  const converted = join(await conversions(), await keyOf(directory, reading));
  if (!(await isDirectory(converted))) await convert(found, reading, converted);
  return { name: found.name, directory: converted, checkpoint: found.directory };
}

/** Whether a config.json is none of a model folder. What it is then decides whether it can be converted. */
export function isCheckpoint(config: unknown): boolean {
  return typeof config === 'object' && config !== null && !('orchard' in config);
}

/** Where a user has no home, or none that can be written, each process converts for itself. */
const temporary = new TemporaryDirectory();
let kept: Promise<string> | undefined;

function conversions(): Promise<string> {
  const lasting = pulledModels();
  if (lasting === undefined) return temporary.path();
  const directory = join(lasting, 'checkpoints');
  kept = mkdir(directory, { recursive: true }).then(
    () => directory,
    () => temporary.path(),
  );
  return kept;
}

/** Differs as soon as a file that the conversion reads is another one, or was written again. */
async function keyOf(directory: string, { aggregation, weights = 'float32' }: CheckpointReading): Promise<string> {
  const names = (await readdir(directory)).filter((name) => READ.test(name)).sort();
  const files = await Promise.all(
    names.map(async (name) => {
      const path = await realpath(join(directory, name));
      const { size, mtimeNs, ctimeNs } = await stat(path, { bigint: true });
      return [name, path, `${size} ${mtimeNs} ${ctimeNs}`];
    }),
  );
  const parts = JSON.stringify([CONVERSION, aggregation, weights, files]);
  return createHash('sha256').update(parts).digest('hex').slice(0, KEY_CHARACTERS);
}

const KEY_CHARACTERS = 32;

/** Whole or not at all: the folder gets its name when everything is in it. */
async function convert(found: FoundModel, reading: CheckpointReading, directory: string): Promise<void> {
  const { writeCheckpoint } = await import('./write-checkpoint.js');
  const draft = join(dirname(directory), `.${randomUUID()}`);
  try {
    await mkdir(draft);
    await writeCheckpoint(found, draft, { ...reading, files: 'graph' });
    await rename(draft, directory).catch(async (thrown: unknown) => {
      if (!(await isDirectory(directory))) throw thrown; // else another process was faster
    });
  } catch (cause) {
    if (!(isError(cause) && 'syscall' in cause)) throw cause;
    const reason = `the converted checkpoint can't be written: ${cause.message}`;
    if (isDiskFailure(cause)) throw new StorageError(`${directory}: ${reason}`, { cause });
    throw new ModelFolderError(directory, reason, { cause });
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}
