import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { err, ok, type Result, ResultAsync } from 'neverthrow';
import type { TrainingStats } from '../contract/index.js';
import type { DatasetWarning } from '../datasets/index.js';
import { bertConfigOfSize } from '../encoder/index.js';
import { type OrchardError, toOrchardError } from '../errors.js';
import type { FinishedTask, TextWindow, TrainingTask } from '../families/index.js';
import { type GraphExecutor, onnxExecutor } from '../graph/index.js';
import { type NamedTensor, type TrainingRecord, writeModelFolder } from '../model-folder/index.js';
import { reportFiles } from '../report/index.js';
import { tokenizerConfig } from '../tokenizer/index.js';
import { runtimeVersions } from '../versions.js';
import { exportOnnx, modelFolderConfig } from './export-model.js';
import { type Hyperparameters, MAX_TOKENS, resolveHyperparameters } from './hyperparameters.js';
import { type PreparedTask, prepareTask } from './prepare-task.js';
import { ProgressReporter } from './progress-reporter.js';
import { type TokenizedRows, tokenize } from './tokenize.js';
import { type TrainedModel, trainModel } from './training-loop.js';
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
  const hyperparameters = resolveHyperparameters(
    spec.model_config,
    spec.training_config,
    plain.train.slice(0, plain.examples?.train),
    spec.tuning,
  );
  progress.planned(hyperparameters.epochs);
  progress.entered('prepare');
  const task = hyperparameters.augment ? plain.augmented(spec.seed) : plain;
  const tokenized = tokenize(task, family.longTexts, hyperparameters);
  if (tokenized.isErr()) return err(tokenized.error);
  const warnings = [...task.warnings, ...runWarnings(tokenized.value.train, hyperparameters)];
  progress.warned(warnings);
  const { lowercase, language, balanced } = hyperparameters;
  const expert = await task.trainExpert({ lowercase, language, balanced, seed: spec.seed, signal });
  if (expert.isErr()) return err(expert.error);
  const encoder = bertConfigOfSize(spec.model_config.size, tokenized.value.vocabularySize);
  const trained = await trainModel({
    ...tokenized.value,
    task,
    ...(expert.value.pairs && { pairs: expert.value.pairs }),
    encoder,
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
  });
  if (trained.isErr()) return err(trained.error);
  progress.entered('export');
  const finished = expert.value.finish(trained.value.devOutputs);
  progress.blended(finished.blend);
  const stats = {
    ...trained.value.stats,
    ...(task.mainMetric && { best_eval_metric_value: finished.blend.blend.value }),
  };
  const run = { hyperparameters, warnings, ...finished };
  const model = { family, task, encoder, ...tokenized.value, ...trained.value, stats, ...run };
  const written = await writeModel(spec, model);
  if (written.isErr()) return err(written.error);
  await rm(work, { recursive: true, force: true });
  return ok(stats);
}

/** What the user should know of the run itself. */
function runWarnings(train: readonly TextWindow[], { pretrained }: Hyperparameters): DatasetWarning[] {
  const warnings: DatasetWarning[] = [];
  const truncated = train.filter(({ encoding }) => encoding.truncated > 0).length;
  if (truncated > 0) {
    const message = `${truncated} training texts are longer than ${MAX_TOKENS} tokens; the rest of each is not read`;
    warnings.push({ kind: 'truncated_text', count: truncated, message, examples: [] });
  }
  if (pretrained) {
    const message =
      'no pretrained backbone is installed, so training started from random weights; set use_pretrained to false to ask for that';
    warnings.push({ kind: 'no_backbone', count: 1, message, examples: [] });
  }
  return warnings;
}

interface FinishedModel extends PreparedTask, TokenizedRows, TrainedModel, FinishedTask {
  readonly encoder: ReturnType<typeof bertConfigOfSize>;
  readonly hyperparameters: Hyperparameters;
  readonly warnings: readonly DatasetWarning[];
}

function writeModel(spec: TrainingSpec, model: FinishedModel): ResultAsync<void, OrchardError> {
  const { family, task, encoder, tokenizerJson, hyperparameters, stats, warnings, blend, files, evaluation } =
    model;
  const config = modelFolderConfig(
    encoder,
    spec.model_config,
    {
      ...task.describe(),
      blend: blend.blend.weights,
      files: [...files.keys()],
      lowercase: hyperparameters.lowercase,
    },
    MAX_TOKENS,
  );
  const training: TrainingRecord = {
    model_config: spec.model_config,
    training_config: spec.training_config,
    hyperparameters: { ...hyperparameters },
    seed: spec.seed,
    training_stats: stats,
    parts: blend,
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
    tokenizer: tokenizerJson,
    tokenizerConfig: tokenizerConfig(tokenizerJson, MAX_TOKENS),
    weights,
    files: new Map<string, string | Uint8Array>([
      ...files,
      ...(family.companions?.(encoder, config) ?? []),
      ...report,
    ]),
    onnx: exportOnnx(family, encoder, config, model.weights),
    training,
  });
}

/** Equal for two runs exactly when one may go on from the other's checkpoint. */
function fingerprintOf(
  { model_config, training_config, seed, tuning }: TrainingSpec,
  task: TrainingTask,
): string {
  const rows = [task.train.length, task.dev.length];
  return JSON.stringify({ model_config, training_config, seed, tuning, rows });
}
