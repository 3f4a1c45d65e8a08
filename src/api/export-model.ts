import { ResultAsync } from 'neverthrow';
import * as z from 'zod';
import { type OrchardError, toOrchardError, validate } from '../contract/index.js';
import { writeFolder } from '../models/index.js';
import { type CopiedWeights, convertFolder } from '../training/index.js';
import { MODEL_FOLDER } from './open-model.js';

/** Options of {@link exportModel}. */
export interface ExportOptions {
  /**
   * `float32` (default): `model.safetensors` and `onnx/model.onnx`, for Python libraries, transformers.js and other ONNX
   * runtimes. If the model has only 8-bit weights, as models of the catalogue do, they are converted back, and the copy
   * answers with the result. `int8`: only `onnx/model_quantized.onnx`, which is all that Orchard needs.
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
 * @param folder the folder of a model that this library trained, or of a model of the catalogue.
 * @param output a folder that is missing or empty, or holds a model, which is replaced.
 * @returns the path of the copy. Fails with a ValidationError if `output` holds other files, a ModelFolderError if `folder` is
 *   not a model or lacks what the copy needs, or a StorageError.
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
