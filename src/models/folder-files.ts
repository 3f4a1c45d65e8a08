import { join } from 'node:path';
import { isOrchardError, ModelFolderError } from '../contract/index.js';
import { readWithin } from '../system/index.js';

/** The files of a model folder, with the names that Hugging Face uses. */
export const CONFIG_FILE = 'config.json';
export const WEIGHTS_FILE = 'model.safetensors';
export const TOKENIZER_FILE = 'tokenizer.json';
export const TOKENIZER_CONFIG_FILE = 'tokenizer_config.json';
/** The inference graph, in the place where transformers.js and Optimum look for it. */
export const ONNX_FILE = 'onnx/model.onnx';
/** The same with 8-bit weights. */
export const QUANTIZED_ONNX_FILE = 'onnx/model_quantized.onnx';
/** The lexical expert, whose outputs are blended with the encoder's. */
export const EXPERT_FILE = 'lexical.safetensors';
/** How the model was trained: configuration, statistics, warnings. */
export const TRAINING_FILE = 'training.json';
/** The figures of the finished model on its dev rows. */
export const EVALUATION_FILE = 'evaluation.json';
/** The model card for the Hugging Face Hub. */
export const CARD_FILE = 'README.md';

/**
 * Reads single files of a model folder. Never reads outside the folder, whatever names or links it has, nor a
 * file that is too large for its kind. Errors name the path of the file.
 */

const MIB = 1024 ** 2;
/** Maximum size of config.json and tokenizer_config.json: 64 MiB, for a million labels of 60 characters. */
export const MAX_CONFIG_BYTES = 64 * MIB;
/** Maximum size of tokenizer.json: 256 MiB, eight times that of Gemma with 256,000 tokens. */
export const MAX_TOKENIZER_BYTES = 256 * MIB;
/** Maximum size of other files: 2 GiB, the limit of a Buffer. */
export const MAX_FILE_BYTES = 2 ** 31 - 1;

/** Runs a function that reads or writes a file. @throws ModelFolderError for any other error */
export async function withFile<T>(file: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (isOrchardError(cause)) throw cause;
    throw new ModelFolderError(file, cause instanceof Error ? cause.message : String(cause), { cause });
  }
}

/** The bytes of a file of a folder. @throws ModelFolderError */
export function readFolderFile(directory: string, name: string, maxBytes: number = MAX_FILE_BYTES): Promise<Buffer> {
  return withFile(join(directory, name), () => readWithin(directory, name, maxBytes));
}

interface JsonText {
  readonly text: string;
  /** The text, parsed. */
  readonly json: unknown;
}

/** @throws ModelFolderError if the file can't be read or isn't JSON */
export function readJsonText(directory: string, name: string, maxBytes: number): Promise<JsonText> {
  return withFile(join(directory, name), async () => {
    const text = (await readWithin(directory, name, maxBytes)).toString('utf8');
    return { text, json: JSON.parse(text) };
  });
}
