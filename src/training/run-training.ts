import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { err, ok, okAsync, type Result, ResultAsync } from 'neverthrow';
import type { TrainingStats } from '../contract/index.js';
import { bertConfigOfSize } from '../encoder/index.js';
import { type OrchardError, toOrchardError } from '../errors.js';
import type { TrainingTask } from '../families/index.js';
import { type GraphExecutor, onnxExecutor } from '../graph/index.js';
import { type Backbone, readBackbone } from './backbone.js';
import { finishModel } from './finish-model.js';
import { resolveHyperparameters } from './hyperparameters.js';
import { prepareTask } from './prepare-task.js';
import { ProgressReporter } from './progress-reporter.js';
import { runWarnings } from './run-warnings.js';
import { tokenize } from './tokenize.js';
import { type LoopInput, trainModel } from './training-loop.js';
import type { TrainingRunOptions, TrainingSpec } from './training-run.js';
import { namedBackbone, writeModel } from './write-model.js';

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
  const tokenized = tokenize(task, family, hyperparameters, backbone);
  if (tokenized.isErr()) return err(tokenized.error);
  const warnings = [...task.warnings, ...runWarnings(spec, tokenized.value, hyperparameters, backbone)];
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

/** Equal for two runs exactly when one may go on from the other's checkpoint. */
function fingerprintOf(
  { model_config, training_config, seed, tuning, backbone }: TrainingSpec,
  task: TrainingTask,
): string {
  const rows = [task.train.length, task.dev.length];
  const start = backbone && namedBackbone(backbone);
  return JSON.stringify({ model_config, training_config, seed, tuning, rows, start });
}
