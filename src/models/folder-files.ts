import { join } from 'node:path';
import { isDiskFailure, isOrchardError, ModelFolderError, messageOf, StorageError } from '../contract/index.js';
import { readWithin } from '../system/index.js';

/** Hugging Face's names. */
export const CONFIG_FILE = 'config.json';
export const WEIGHTS_FILE = 'model.safetensors';
/** Which file has which tensor, where the weights are in several files. */
export const SHARDS_FILE = 'model.safetensors.index.json';
export const TOKENIZER_FILE = 'tokenizer.json';
export const TOKENIZER_CONFIG_FILE = 'tokenizer_config.json';
/** Where transformers.js and Optimum look for it. */
export const ONNX_FILE = 'onnx/model.onnx';
/** The graph with 8-bit weights. */
export const QUANTIZED_ONNX_FILE = 'onnx/model_quantized.onnx';
/** The weights of the graph alone, in a model file for the web. */
export const ENCODER_FILE = 'encoder.safetensors';
/** Its outputs are blended with the encoder's. */
export const EXPERT_FILE = 'lexical.safetensors';
/** Weights of a sentence encoder's layers after pooling. */
export const SENTENCE_FILE = 'sentence.safetensors';
export const TRAINING_FILE = 'training.json';
/** Figures of the finished model on its dev rows. */
export const EVALUATION_FILE = 'evaluation.json';
export const CARD_FILE = 'README.md';

/** Never reads outside the folder, whatever names or links it has, nor a file that is too large for its kind. */

const MIB = 1024 ** 2;
/** A million labels of 60 characters. */
export const MAX_CONFIG_BYTES = 64 * MIB;
/** Eight times that of Gemma with 256,000 tokens. */
export const MAX_TOKENIZER_BYTES = 256 * MIB;
/** The limit of a Buffer. */
export const MAX_FILE_BYTES = 2 ** 31 - 1;

/** @throws StorageError if the disk is full or broken, ModelFolderError for any other error */
export async function withFile<T>(file: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (isOrchardError(cause)) throw cause;
    const reason = messageOf(cause);
    if (isDiskFailure(cause)) throw new StorageError(`${file}: ${reason}`, { cause });
    throw new ModelFolderError(file, reason, { cause });
  }
}

/** @throws ModelFolderError */
export function readFolderFile(directory: string, name: string, maxBytes: number = MAX_FILE_BYTES): Promise<Buffer> {
  return withFile(join(directory, name), () => readWithin(directory, name, maxBytes));
}

interface JsonText {
  readonly text: string;
  readonly json: unknown;
}

/** @throws ModelFolderError if the file can't be read or isn't JSON */
export function readJsonText(directory: string, name: string, maxBytes: number): Promise<JsonText> {
  return withFile(join(directory, name), async () => {
    const text = (await readWithin(directory, name, maxBytes)).toString('utf8');
    return { text, json: JSON.parse(text) };
  });
}
