import { open } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { ModelFolderError, ValidationError } from '../contract/index.js';
import { PortableModel } from '../inference/index.js';
import { isModelFile, modelFilePieces, readFolderFile } from '../models/index.js';
import { failedWith, replaceFile } from '../system/index.js';
import { askableFolder } from '../training/index.js';

/**
 * Writes what a model answers with as one file for `orchard-nlp/web`, after it was opened as it will be there.
 * @throws ModelFolderError for a model that can't run there, ValidationError if `path` is another file, StorageError
 */
export async function writeWebFile(directory: string, path: string): Promise<void> {
  await requireReplaceable(path);
  const placed = await askableFolder({ name: basename(directory), directory });
  const files = new Map<string, Uint8Array>();
  try {
    await PortableModel.open(async (name) => {
      const content = await readFolderFile(placed.directory, name);
      files.set(name, content);
      return content;
    });
  } catch (thrown) {
    if (!(thrown instanceof ModelFolderError)) throw thrown;
    const file = thrown.file.includes(placed.directory) ? thrown.file : join(placed.directory, thrown.file);
    throw new ModelFolderError(file, thrown.reason, { cause: thrown });
  }
  await replaceFile(path, Buffer.concat([...modelFilePieces(files)]));
}

async function requireReplaceable(path: string): Promise<void> {
  const first = new Uint8Array(8);
  try {
    const file = await open(path);
    try {
      await file.read(first, 0, first.length, 0);
    } finally {
      await file.close();
    }
  } catch (thrown) {
    if (failedWith(thrown, 'ENOENT')) return;
    throw new ValidationError([
      { loc: ['output'], msg: `${path} can't be replaced; give a new file`, type: 'not_a_file' },
    ]);
  }
  if (isModelFile(first)) return;
  const msg = `${path} already exists and is not such a file; give a new file`;
  throw new ValidationError([{ loc: ['output'], msg, type: 'not_empty' }]);
}
