import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { err, ok, type Result, ResultAsync } from 'neverthrow';
import { ModelFolderError } from '../errors.js';
import {
  CONFIG_FILE,
  ONNX_FILE,
  QUANTIZED_ONNX_FILE,
  TOKENIZER_CONFIG_FILE,
  TOKENIZER_FILE,
  TRAINING_FILE,
  WEIGHTS_FILE,
} from './files.js';
import { type ModelFolderConfig, modelFolderConfigSchema } from './model-config.js';
import { encodeSafetensors, type NamedTensor } from './safetensors.js';

/** All that one trained model leaves on disk. */
export interface ModelFolder {
  readonly config: ModelFolderConfig;
  readonly tokenizer: unknown;
  readonly tokenizerConfig: unknown;
  readonly weights: ReadonlyMap<string, NamedTensor>;
  /** The bytes of the inference graph. */
  readonly onnx: Uint8Array;
  /** The same with 8-bit weights, where there is one. */
  readonly quantizedOnnx?: Uint8Array;
  /** Further files by name, those of `config.orchard.files` among them. */
  readonly files: ReadonlyMap<string, Uint8Array | string>;
  /** How it came to be; anything that JSON holds. */
  readonly training: unknown;
}

/** What is read of a folder to run its model; the graph itself is loaded from its path. */
export interface OpenedModelFolder {
  readonly config: ModelFolderConfig;
  readonly tokenizer: unknown;
  readonly tokenizerConfig: unknown;
  readonly onnxPath: string;
  /** Those of `config.orchard.files`, by name. */
  readonly files: ReadonlyMap<string, OpenedFile>;
}

export interface OpenedFile {
  readonly bytes: Uint8Array;
  /** Its path, for errors. */
  readonly file: string;
}

/** Writes every file of a model folder into a directory, which is created if it's missing. */
export function writeModelFolder(
  directory: string,
  folder: ModelFolder,
): ResultAsync<void, ModelFolderError> {
  const files: Readonly<Record<string, string | Uint8Array>> = {
    [CONFIG_FILE]: toJson(folder.config),
    [TOKENIZER_FILE]: toJson(folder.tokenizer),
    [TOKENIZER_CONFIG_FILE]: toJson(folder.tokenizerConfig),
    [TRAINING_FILE]: toJson(folder.training),
    [WEIGHTS_FILE]: encodeSafetensors(folder.weights),
    [ONNX_FILE]: folder.onnx,
    ...(folder.quantizedOnnx && { [QUANTIZED_ONNX_FILE]: folder.quantizedOnnx }),
    ...Object.fromEntries(folder.files),
  };
  const writes = Object.entries(files).map(([file, content]) => writeOne(directory, file, content));
  return ResultAsync.combine(writes).map(() => undefined);
}

/** Reads what running the model needs. */
export function openModelFolder(directory: string): ResultAsync<OpenedModelFolder, ModelFolderError> {
  return ResultAsync.combine([
    readJson(directory, CONFIG_FILE).andThen((json) => parseConfig(json, join(directory, CONFIG_FILE))),
    readJson(directory, TOKENIZER_FILE),
    readJson(directory, TOKENIZER_CONFIG_FILE),
  ]).andThen(([config, tokenizer, tokenizerConfig]) =>
    readFiles(directory, config.orchard.files).map((files) => ({
      config,
      tokenizer,
      tokenizerConfig,
      onnxPath: join(directory, config.orchard.graph ?? ONNX_FILE),
      files,
    })),
  );
}

function readFiles(
  directory: string,
  names: readonly string[],
): ResultAsync<OpenedModelFolder['files'], ModelFolderError> {
  const reads = names.map((name) => {
    const file = join(directory, name);
    return ResultAsync.fromPromise(
      readFile(file),
      (cause) => new ModelFolderError(file, reasonOf(cause), { cause }),
    ).map((bytes): [string, OpenedFile] => [name, { bytes, file }]);
  });
  return ResultAsync.combine(reads).map((read) => new Map(read));
}

function parseConfig(json: unknown, file: string): Result<ModelFolderConfig, ModelFolderError> {
  const parsed = modelFolderConfigSchema.safeParse(json);
  if (parsed.success) return ok(parsed.data);
  const [issue] = parsed.error.issues;
  return err(new ModelFolderError(file, `${issue?.path.join('.')}: ${issue?.message}`));
}

function readJson(directory: string, name: string): ResultAsync<unknown, ModelFolderError> {
  const file = join(directory, name);
  const parse = async (): Promise<unknown> => JSON.parse(await readFile(file, 'utf8'));
  return ResultAsync.fromPromise(parse(), (cause) => new ModelFolderError(file, reasonOf(cause), { cause }));
}

function writeOne(
  directory: string,
  name: string,
  content: string | Uint8Array,
): ResultAsync<void, ModelFolderError> {
  const file = join(directory, name);
  const write = async () => {
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, content);
  };
  return ResultAsync.fromPromise(write(), (cause) => new ModelFolderError(file, reasonOf(cause), { cause }));
}

function reasonOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}

function toJson(value: unknown): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}
