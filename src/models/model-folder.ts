import { createWriteStream } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { fileWithin } from '../system/index.js';
import {
  CONFIG_FILE,
  ONNX_FILE,
  QUANTIZED_ONNX_FILE,
  TOKENIZER_CONFIG_FILE,
  TOKENIZER_FILE,
  TRAINING_FILE,
  WEIGHTS_FILE,
} from './files.js';
import {
  MAX_CONFIG_BYTES,
  MAX_FILE_BYTES,
  MAX_TOKENIZER_BYTES,
  readConfig,
  readFolderFile,
  readJsonText,
  withFile,
} from './folder-file.js';
import type { ModelFolderConfig } from './model-config.js';
import { type NamedTensor, safetensorsPieces } from './safetensors.js';

/** The files of a trained model. */
interface ModelFolder {
  readonly config: ModelFolderConfig;
  readonly tokenizer: unknown;
  readonly tokenizerConfig: unknown;
  /** Absent in the folder of an encoder for inference only, whose graph has the weights. */
  readonly weights?: ReadonlyMap<string, NamedTensor>;
  /** The bytes of the inference graph, whole or in pieces. */
  readonly onnx: Uint8Array | Iterable<Uint8Array>;
  /** The graph with 8-bit weights. Absent if there is none. */
  readonly quantizedOnnx?: Uint8Array | Iterable<Uint8Array>;
  /** Other files by name, including those of `config.orchard.files`. */
  readonly files: ReadonlyMap<string, Uint8Array | string>;
  /** How the model was trained, as any JSON value. Absent if nothing was trained. */
  readonly training?: unknown;
}

/** The content of a folder that inference needs. The graph itself is loaded from its path. */
interface OpenedModelFolder {
  readonly config: ModelFolderConfig;
  readonly tokenizer: unknown;
  readonly tokenizerConfig: unknown;
  /** The text of both tokenizer files, which is equal for models that can share a tokenizer. */
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

/** Writes a model folder, and creates the directory if it is missing. @throws ModelFolderError */
export async function writeModelFolder(directory: string, folder: ModelFolder): Promise<void> {
  const files: Readonly<Record<string, string | Uint8Array | Iterable<Uint8Array>>> = {
    [CONFIG_FILE]: toJson(folder.config),
    [TOKENIZER_FILE]: toJson(folder.tokenizer),
    [TOKENIZER_CONFIG_FILE]: toJson(folder.tokenizerConfig),
    ...(folder.training !== undefined && { [TRAINING_FILE]: toJson(folder.training) }),
    ...(folder.weights && { [WEIGHTS_FILE]: safetensorsPieces(folder.weights) }),
    [ONNX_FILE]: folder.onnx,
    ...(folder.quantizedOnnx && { [QUANTIZED_ONNX_FILE]: folder.quantizedOnnx }),
    ...Object.fromEntries(folder.files),
  };
  // One by one, so that after a failure no file is still being written.
  for (const [name, content] of Object.entries(files)) {
    const file = join(directory, name);
    await withFile(file, async () => {
      await mkdir(dirname(file), { recursive: true });
      const isWhole = typeof content === 'string' || content instanceof Uint8Array;
      // Not writeFile, since the one of Yarn's Plug'n'Play accepts no pieces.
      await pipeline(isWhole ? [content] : content, createWriteStream(file));
    });
  }
}

/** Reads what inference needs. @throws ModelFolderError */
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
  await withFile(onnxPath, () => fileWithin(directory, graph, MAX_FILE_BYTES));
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
