import { open } from 'node:fs/promises';
import { basename, isAbsolute, join } from 'node:path';
import { ModelFolderError, ValidationError } from '../contract/index.js';
import { PASSAGES_FILE } from '../families/index.js';
import { PortableModel } from '../inference/index.js';
import { type FoundModel, isModelFile, modelFilePieces, readFolderFile } from '../models/index.js';
import { failedWith, isPresent, replaceFile, TemporaryDirectory, withPauses } from '../system/index.js';
import { askableFolder, MODULES_FILE, writeSentenceEncoder } from '../training/index.js';

/**
 * Writes what a model answers with as one file for `orchard-nlp/web`, after it was opened as it will be there.
 * @throws ModelFolderError for a model that can't run there, ValidationError if `path` is another file, StorageError
 */
export async function writeWebFile(directory: string, path: string): Promise<void> {
  await requireReplaceable(path);
  const temporary = new TemporaryDirectory();
  try {
    const opened = await openableFolder({ name: basename(directory), directory }, temporary);
    await replaceFile(path, Buffer.concat([...modelFilePieces(await filesOf(opened))]));
  } finally {
    await temporary.remove();
  }
}

interface OpenableFolder {
  readonly directory: string;
  /** The folder that errors name. */
  readonly named: string;
}

/** The folder itself or, of a checkpoint or a folder of sentence-transformers, what it is converted to. @throws ModelFolderError */
async function openableFolder(model: FoundModel, temporary: TemporaryDirectory): Promise<OpenableFolder> {
  const { directory: named } = model;
  // Models that rank passages have modules.json for other libraries.
  if ((await isPresent(join(named, MODULES_FILE))) && !(await isPresent(join(named, PASSAGES_FILE)))) {
    const directory = join(await temporary.path(), 'encoder');
    await writeSentenceEncoder(model, directory);
    return { directory, named };
  }
  const { directory } = await askableFolder(model);
  return { directory, named: directory };
}

/** The files that a model is opened with. @throws ModelFolderError */
async function filesOf({ directory, named }: OpenableFolder): Promise<ReadonlyMap<string, Uint8Array>> {
  const files = new Map<string, Uint8Array>();
  const read = async (name: string) => {
    const content = await readFolderFile(directory, name);
    files.set(name, content);
    return content;
  };
  try {
    await PortableModel.open(read, withPauses);
  } catch (thrown) {
    if (!(thrown instanceof ModelFolderError)) throw thrown;
    const file = isAbsolute(thrown.file) ? thrown.file : join(named, thrown.file);
    throw new ModelFolderError(file, thrown.reason, { cause: thrown });
  }
  return files;
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
  const msg = `${path} already exists and is not a model file for the web; give a new file`;
  throw new ValidationError([{ loc: ['output'], msg, type: 'not_empty' }]);
}
