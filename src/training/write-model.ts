import type { DatasetWarning } from '../datasets/index.js';
import type { ExecutionProvider } from '../device-names.js';
import type { Encoder } from '../encoder/index.js';
import { toOrchardError } from '../errors.js';
import type { Quantization } from '../graph/index.js';
import {
  type ModelFolderConfig,
  QUANTIZED_ONNX_FILE,
  type TrainingRecord,
  writeModelFolder,
} from '../model-folder/index.js';
import type { NamedTensor } from '../safetensors/index.js';
import { runtimeVersions } from '../versions.js';
import type { Backbone, BackboneSource } from './backbone.js';
import { configForOthers, exportOnnx, modelFolderConfig } from './export-model.js';
import type { FinishedPrecision } from './finish-model.js';
import type { Hyperparameters } from './hyperparameters.js';
import type { PreparedTask } from './prepare-task.js';
import type { TokenizedRows } from './tokenize.js';
import type { TrainedModel } from './training-loop.js';
import type { TrainingSpec } from './training-run.js';

/** The results of a training. */
export interface FinishedModel extends PreparedTask, TokenizedRows, TrainedModel, FinishedPrecision {
  readonly encoder: Encoder;
  readonly hyperparameters: Hyperparameters;
  readonly warnings: readonly DatasetWarning[];
  /** What computed its steps, unless an executor of the application did. */
  readonly device?: ExecutionProvider;
  readonly backbone?: Backbone;
}

/** Writes the model folder into the run's directory. @throws ModelFolderError, InternalError */
export async function writeModel(spec: TrainingSpec, model: FinishedModel): Promise<void> {
  const { family, encoder, files, evaluation, quantization } = model;
  const familyTraining = await family.training();
  const config = configForOthers(configOf(spec, model), familyTraining);
  const training = recordOf(spec, model);
  const { reportFiles } = await import('../report/index.js'); // the first step needn't wait for it
  const report = reportFiles({ id: spec.id, config, training, ...(evaluation && { evaluation }) });
  const { companions, companionTensors } = familyTraining;
  // One after the other, as both may be large.
  const graph = (asked?: Quantization) =>
    exportOnnx(family, encoder, config, model.weights, asked).catch((thrown: unknown) => {
      throw toOrchardError(thrown, 'export');
    });
  const onnx = await graph();
  const quantizedOnnx = quantization && (await graph(quantization));
  await writeModelFolder(spec.directory, {
    config,
    tokenizer: model.tokenizerJson,
    tokenizerConfig: model.tokenizerConfig,
    weights: new Map([...namedWeights(model), ...(companionTensors?.(encoder, config) ?? [])]),
    files: new Map<string, string | Uint8Array>([
      ...files,
      ...(companions?.(encoder, config) ?? []),
      ...report,
    ]),
    onnx,
    ...(quantizedOnnx && { quantizedOnnx }),
    training,
  });
}

/** The config.json of a finished model. */
export function configOf(
  { model_config }: TrainingSpec,
  { task, encoder, blend, files, hyperparameters, reading, backbone, quantization, evidence }: FinishedModel,
): ModelFolderConfig {
  return modelFolderConfig(
    encoder,
    model_config,
    {
      ...task.describe(),
      blend: blend.blend.weights,
      ...(evidence && { evidence }),
      files: [...files.keys()],
      lowercase: hyperparameters.lowercase,
      ...(backbone && { backbone: backbone.source.name }),
      ...(quantization && { graph: QUANTIZED_ONNX_FILE }),
    },
    reading,
  );
}

function recordOf(
  { model_config, training_config, seed }: TrainingSpec,
  { task, hyperparameters, backbone, stats, blend, precision, warnings, device }: FinishedModel,
): TrainingRecord {
  return {
    model_config,
    training_config,
    hyperparameters: { ...hyperparameters },
    ...(backbone && { backbone: namedBackbone(backbone.source) }),
    seed,
    ...(device && { device }),
    training_stats: stats,
    parts: blend,
    ...(precision && { precision }),
    warnings,
    dataset: {
      train_rows: task.examples?.train ?? task.train.length,
      dev_rows: task.examples?.dev ?? task.dev.length,
    },
    versions: runtimeVersions(),
  };
}

/** The values are asked for one by one, as they are written: they may still lie in the backbone's file. */
function namedWeights({ parameters, weights }: FinishedModel): Map<string, NamedTensor> {
  return new Map(
    parameters.map(({ name, shape }) => [
      name,
      {
        shape,
        get values() {
          return weights.get(name) ?? new Float32Array();
        },
      },
    ]),
  );
}

/** A backbone's name and version, without where its files lie. */
export function namedBackbone({ name, revision }: BackboneSource): NonNullable<TrainingRecord['backbone']> {
  return { name, ...(revision !== undefined && { revision }) };
}
