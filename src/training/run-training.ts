import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { err, ok, okAsync, type Result, ResultAsync } from 'neverthrow';
import type { TrainingStats } from '../contract/index.js';
import type { DatasetWarning } from '../datasets/index.js';
import { type BertConfig, bertConfigOfSize } from '../encoder/index.js';
import { type OrchardError, toOrchardError } from '../errors.js';
import type { TrainingTask } from '../families/index.js';
import { type GraphExecutor, onnxExecutor } from '../graph/index.js';
import {
  type NamedTensor,
  QUANTIZED_ONNX_FILE,
  type TrainingRecord,
  writeModelFolder,
} from '../model-folder/index.js';
import { reportFiles } from '../report/index.js';
import { runtimeVersions } from '../versions.js';
import { type Backbone, type BackboneSource, readBackbone } from './backbone.js';
import { exportOnnx, modelFolderConfig } from './export-model.js';
import { type FinishedPrecision, finishModel } from './finish-model.js';
import { type Hyperparameters, resolveHyperparameters } from './hyperparameters.js';
import { type PreparedTask, prepareTask } from './prepare-task.js';
import { ProgressReporter } from './progress-reporter.js';
import { runWarnings } from './run-warnings.js';
import { type TokenizedRows, tokenize } from './tokenize.js';
import { type LoopInput, type TrainedModel, trainModel } from './training-loop.js';
import type { TrainingRunOptions, TrainingSpec } from './training-run.js';

/** A crash loses at most this much of a training, and the epoch under way. */
const CHECKPOINT_INTERVAL_MS = 30_000;

/** Downloads, checkpoints and whatever else a run needs only while it runs. */
const WORK_FOLDER = 'work';

/** One training job from its dataset's URL to a model folder in `spec.directory`. */
export function runTraining(
  spec: TrainingSpec,
  options: TrainingRunOptions,
  executor: GraphExecutor = onnxExecutor(),
): ResultAsync<TrainingStats, OrchardError> {
  const run = ResultAsync.fromPromise(runSteps(spec, options, executor), (thrown) =>
    toOrchardError(thrown, 'training'),
  );
  return run.andThen((result) => result);
}

async function runSteps(
  spec: TrainingSpec,
  { signal, onEvent }: TrainingRunOptions,
  executor: GraphExecutor,
): Promise<Result<TrainingStats, OrchardError>> {
  const work = join(spec.directory, WORK_FOLDER);
  const progress = new ProgressReporter(onEvent);
  const prepared = await prepareTask(spec, work, signal, progress);
  if (prepared.isErr()) return err(prepared.error);
  const { family, task: plain } = prepared.value;
  progress.entered('prepare');
  const opened = await openBackbone(spec);
  if (opened.isErr()) return err(opened.error);
  const backbone = opened.value;
  const hyperparameters = resolveHyperparameters(
    spec.model_config,
    spec.training_config,
    plain.train.slice(0, plain.examples?.train),
    spec.tuning,
    backbone,
  );
  progress.planned(hyperparameters.epochs);
  const task = hyperparameters.augment ? plain.augmented(spec.seed) : plain;
  const tokenized = tokenize(task, family.longTexts, hyperparameters, backbone?.tokenizer);
  if (tokenized.isErr()) return err(tokenized.error);
  const warnings = [...task.warnings, ...runWarnings(spec, tokenized.value.train, hyperparameters, backbone)];
  progress.warned(warnings);
  const { lowercase, language, balanced } = hyperparameters;
  const expert = await task.trainExpert({ lowercase, language, balanced, seed: spec.seed, signal });
  if (expert.isErr()) return err(expert.error);
  const encoder =
    backbone?.encoder ?? bertConfigOfSize(spec.model_config.size, tokenized.value.vocabularySize);
  const input: LoopInput = {
    ...tokenized.value,
    task,
    ...(expert.value.pairs && { pairs: expert.value.pairs }),
    encoder,
    ...(backbone && { pretrained: backbone.weights }),
    hyperparameters,
    executor,
    threads: spec.threads,
    seed: spec.seed,
    signal,
    progress,
    checkpoint: {
      file: join(work, 'checkpoint.safetensors'),
      fingerprint: fingerprintOf(spec, task),
      intervalMs: CHECKPOINT_INTERVAL_MS,
    },
  };
  const trained = await trainModel(input);
  if (trained.isErr()) return err(trained.error);
  progress.entered('export');
  const finished = await finishModel(input, trained.value, expert.value, spec.tuning);
  if (finished.isErr()) return err(finished.error);
  const { blend, refusal } = finished.value;
  const refusals = refusal ? [refusal] : [];
  progress.warned(refusals);
  progress.blended(blend);
  const stats = {
    ...trained.value.stats,
    ...(task.mainMetric && { best_eval_metric_value: blend.blend.value }),
  };
  const run = { hyperparameters, ...(backbone && { backbone }), warnings: [...warnings, ...refusals] };
  const model = {
    family,
    task,
    encoder,
    ...tokenized.value,
    ...trained.value,
    stats,
    ...run,
    ...finished.value,
  };
  const written = await writeModel(spec, model);
  if (written.isErr()) return err(written.error);
  await rm(work, { recursive: true, force: true });
  return ok(stats);
}

/** What the run starts from: nothing where `use_pretrained` is false, or no backbone is to be had. */
function openBackbone({
  backbone,
  training_config,
}: TrainingSpec): ResultAsync<Backbone | undefined, OrchardError> {
  if (backbone === undefined || training_config.use_pretrained === false) return okAsync(undefined);
  return readBackbone(backbone);
}

interface FinishedModel extends PreparedTask, TokenizedRows, TrainedModel, FinishedPrecision {
  readonly encoder: BertConfig;
  readonly hyperparameters: Hyperparameters;
  readonly warnings: readonly DatasetWarning[];
  readonly backbone?: Backbone;
}

function writeModel(spec: TrainingSpec, model: FinishedModel): ResultAsync<void, OrchardError> {
  const { family, task, encoder, backbone, hyperparameters, stats, warnings } = model;
  const { blend, files, evaluation, quantization, precision } = model;
  const config = modelFolderConfig(
    encoder,
    spec.model_config,
    {
      ...task.describe(),
      blend: blend.blend.weights,
      files: [...files.keys()],
      lowercase: hyperparameters.lowercase,
      ...(backbone && { backbone: backbone.source.name }),
      ...(quantization && { graph: QUANTIZED_ONNX_FILE }),
    },
    hyperparameters.maxTokens,
  );
  const training: TrainingRecord = {
    model_config: spec.model_config,
    training_config: spec.training_config,
    hyperparameters: { ...hyperparameters },
    ...(backbone && { backbone: namedBackbone(backbone.source) }),
    seed: spec.seed,
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
  const { id } = spec;
  const report = reportFiles({ id, config, training, ...(evaluation && { evaluation }) });
  const weights = new Map<string, NamedTensor>();
  for (const { name, shape } of model.parameters) {
    weights.set(name, { shape, values: model.weights.get(name) ?? new Float32Array() });
  }
  return writeModelFolder(spec.directory, {
    config,
    tokenizer: model.tokenizerJson,
    tokenizerConfig: model.tokenizerConfig,
    weights,
    files: new Map<string, string | Uint8Array>([
      ...files,
      ...(family.companions?.(encoder, config) ?? []),
      ...report,
    ]),
    onnx: exportOnnx(family, encoder, config, model.weights),
    ...(quantization && { quantizedOnnx: exportOnnx(family, encoder, config, model.weights, quantization) }),
    training,
  });
}

/** Equal for two runs exactly when one may go on from the other's checkpoint. */
function fingerprintOf(
  { model_config, training_config, seed, tuning, backbone }: TrainingSpec,
  task: TrainingTask,
): string {
  const rows = [task.train.length, task.dev.length];
  const start = backbone && namedBackbone(backbone);
  return JSON.stringify({ model_config, training_config, seed, tuning, rows, start });
}

/** What names a backbone wherever its files lie. */
function namedBackbone({ name, revision }: BackboneSource): NonNullable<TrainingRecord['backbone']> {
  return { name, ...(revision !== undefined && { revision }) };
}
