import { open } from 'node:fs/promises';
import { basename, isAbsolute, join } from 'node:path';
import { ModelFolderError, ValidationError } from '../contract/index.js';
import { PASSAGES_FILE } from '../families/index.js';
import { encoderFile, storedModel } from '../graph/index.js';
import { PortableModel } from '../inference/index.js';
import {
  CONFIG_FILE,
  ENCODER_FILE,
  type FoundModel,
  isModelFile,
  modelFilePieces,
  modelFolderConfig,
  ONNX_FILE,
  readFolderFile,
  TOKENIZER_FILE,
} from '../models/index.js';
import { failedWith, isPresent, replaceFile, TemporaryDirectory, utf8Text, withPauses } from '../system/index.js';
import { withListedPieces } from '../text/index.js';
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
    const files = await quickFiles(await filesOf(opened));
    await replaceFile(path, Buffer.concat([...modelFilePieces(files)]));
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

/** The same model with weights instead of its graph, and a list of pieces: a first answer waits for the reading. */
async function quickFiles(given: ReadonlyMap<string, Uint8Array>): Promise<ReadonlyMap<string, Uint8Array>> {
  const files = new Map(given);
  const config = modelFolderConfig(jsonIn(files, CONFIG_FILE), CONFIG_FILE);
  const graphFile = config.orchard.graph ?? ONNX_FILE;
  files.set(ENCODER_FILE, encoderFile(storedModel(contentOf(files, graphFile))));
  files.delete(graphFile);
  const orchard = { ...config.orchard, graph: ENCODER_FILE };
  files.set(CONFIG_FILE, Buffer.from(JSON.stringify({ ...config, orchard })));
  files.set(TOKENIZER_FILE, Buffer.from(JSON.stringify(withListedPieces(jsonIn(files, TOKENIZER_FILE)))));
  await PortableModel.open(async (name) => contentOf(files, name), withPauses);
  return files;
}

function jsonIn(files: ReadonlyMap<string, Uint8Array>, name: string): unknown {
  return JSON.parse(utf8Text(contentOf(files, name)));
}

function contentOf(files: ReadonlyMap<string, Uint8Array>, name: string): Uint8Array {
  const content = files.get(name);
  if (content === undefined) throw new ModelFolderError(name, 'the file is missing');
  return content;
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
