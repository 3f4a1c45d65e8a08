import { ResultAsync } from 'neverthrow';
import * as z from 'zod';
import { validate } from '../contract/index.js';
import { type OrchardError, toOrchardError } from '../errors.js';
import { type CopiedWeights, convertFolder } from '../training/index.js';
import { writeFolder } from './model-output.js';
import { MODEL_FOLDER } from './open-model.js';

export interface ExportOptions {
  /**
   * `float32`, the default: what Python's libraries, transformers.js and other ONNX runtimes load, `model.safetensors` and
   * `onnx/model.onnx`. A model that has 8-bit weights alone, as those of the catalogue do, gets them by restoring its
   * weights; the copy answers by them too. `int8`: `onnx/model_quantized.onnx` alone, which is all that Orchard needs.
   */
  readonly weights?: CopiedWeights;
}

const requestSchema = z.strictObject({
  folder: z.string().min(1),
  output: z.string().min(1),
  weights: z.enum(['float32', 'int8']).default('float32'),
});

/**
 * Copies a model folder for use elsewhere.
 * @param folder of a model that this library trained, or of the catalogue.
 * @param output a folder that doesn't exist, is empty, or holds a model, which is replaced.
 * @returns the path of the copy, or a ValidationError (`output` holds other files), a ModelFolderError (`folder` is no model, or
 *   lacks what the copy needs) or a StorageError.
 */
export function exportModel(
  folder: string,
  output: string,
  options: ExportOptions = {},
): ResultAsync<string, OrchardError> {
  const exported = async () => {
    const asked = validate(requestSchema, { folder, output, ...options }, []);
    const write = (made: string) => convertFolder(asked.folder, made, asked.weights);
    await writeFolder(asked.output, MODEL_FOLDER, write, 'output');
    return asked.output;
  };
  return ResultAsync.fromPromise(exported(), (thrown) => toOrchardError(thrown, `exporting ${folder}`));
}
