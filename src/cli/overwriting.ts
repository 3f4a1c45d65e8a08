import { realpath, stat } from 'node:fs/promises';
import { sep } from 'node:path';
import { absolutePath } from '../system/index.js';
import { UsageError } from './command.js';

interface Output {
  /** As typed; undefined if nothing is written. */
  readonly path: string | undefined;
  readonly flag: string;
  /** The files and folders that the command reads. What isn't one, such as the name of a model, is skipped. */
  readonly inputs: readonly (string | undefined)[];
}

/**
 * An output must not replace what the command reads, not even by way of a link, as a folder that is replaced with the
 * input in it, or as a file of a model.
 * @throws UsageError
 */
export async function requireNotRead({ path, flag, inputs }: Output): Promise<void> {
  const target = await placeOf(path);
  if (target === undefined) return;
  for (const input of inputs) {
    const source = await placeOf(input);
    if (source === undefined) continue;
    const isSame = source.device === target.device && source.inode === target.inode;
    const isModelFile = isWithin(target, source) && MODEL_FILE.test(target.path);
    if (isSame || isWithin(source, target) || isModelFile)
      throw new UsageError(`${flag}: writing ${path} would destroy ${input}, which is read; give another path`);
  }
}

const MODEL_FILE = /\.(?:json|safetensors|onnx)$/i;

interface Place {
  readonly path: string;
  readonly device: bigint;
  readonly inode: bigint;
}

/** Undefined for what is neither a file nor a folder. */
async function placeOf(path: string | undefined): Promise<Place | undefined> {
  if (path === undefined) return undefined;
  try {
    const real = await realpath(absolutePath(path));
    const entry = await stat(real, { bigint: true });
    if (!entry.isFile() && !entry.isDirectory()) return undefined;
    return { path: real, device: entry.dev, inode: entry.ino };
  } catch {
    return undefined;
  }
}

function isWithin(inner: Place, outer: Place): boolean {
  return inner.path.startsWith(outer.path + sep);
}
