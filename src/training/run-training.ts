import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { TrainingStats } from '../contract/index.js';
import type { DatasetWarning } from '../datasets/index.js';
import { newEncoder } from '../encoder/index.js';
import type { TrainingTask } from '../families/index.js';
import { cpuExecutor, type GraphExecutor } from '../graph/index.js';
import { type Backbone, readBackbone } from './backbone.js';
import { checkpointFile, WORK_FOLDER } from './checkpoint-mark.js';
import { trainOnDevice } from './choose-device.js';
import { explainMistakes } from './explain-mistakes.js';
import { finishModel } from './finish-model.js';
import { frozenBackbone } from './frozen-backbone.js';
import { resolveHyperparameters } from './hyperparameters.js';
import { estimateMemory, requireMemory } from './memory-estimate.js';
import { prepareTask } from './prepare-task.js';
import { ProgressReporter } from './progress-reporter.js';
import { runWarnings } from './run-warnings.js';
import { tokenize } from './tokenize.js';
import { type LoopInput, trainModel } from './training-loop.js';
import type { TrainingRunOptions, TrainingSpec } from './training-run.js';
import { configOf, namedBackbone, writeModel } from './write-model.js';

/** A crash loses at most this much of a training, and the epoch in progress. */
const CHECKPOINT_INTERVAL_MS = 30_000;
/** An epoch may take an hour; a process that dies then should not lose all of it. */
const CHECKPOINT_WITHIN_EPOCH_MS = 300_000;

/**
 * One training job from its dataset's URL to a model folder in `spec.directory`.
 * @param given computes in place of the devices of ONNX Runtime.
 * @throws the errors of its steps; an AbortedError when the signal fires.
 */
export async function runTraining(
  spec: TrainingSpec,
  { signal, onEvent }: TrainingRunOptions,
  given?: GraphExecutor,
): Promise<TrainingStats> {
  const work = join(spec.directory, WORK_FOLDER);
  const progress = new ProgressReporter(onEvent);
  const { family, task: plain } = await prepareTask(spec, work, signal, progress);
  progress.entered('prepare');
  const backbone = await openBackbone(spec);
  const frozen = frozenBackbone(spec.id, spec.tuning, plain.head, backbone);
  const hyperparameters = resolveHyperparameters(
    spec.model_config,
    spec.training_config,
    plain.train.slice(0, plain.examples?.train),
    spec.tuning,
    backbone,
  );
  progress.planned(hyperparameters.epochs, hyperparameters.batchSize);
  const estimate = estimateMemory(plain, spec, hyperparameters, backbone?.encoder, frozen);
  requireMemory(spec.id, estimate, spec.memoryLimit);
  const { lowercase, language, balanced } = hyperparameters;
  const task = hyperparameters.augment ? plain.augmented({ seed: spec.seed, lowercase }) : plain;
  const rows = await tokenize(task, family, hyperparameters, backbone, signal);
  const warnings = [...task.warnings, ...runWarnings(spec, rows, hyperparameters, backbone)];
  progress.warned(warnings);
  const expert = await task.trainExpert({ lowercase, language, balanced, seed: spec.seed, signal });
  const encoder = backbone?.encoder ?? newEncoder(spec.model_config.size, rows.vocabularySize);
  const cpu = given ?? cpuExecutor(spec.threads);
  const input: Omit<LoopInput, 'executor'> = {
    ...rows,
    task,
    encoder,
    ...(backbone && { pretrained: backbone.weights }),
    ...(frozen && { frozenBackbone: frozen }),
    hyperparameters,
    seed: spec.seed,
    signal,
    progress,
    checkpoint: {
      file: checkpointFile(spec.directory),
      fingerprint: fingerprintOf(spec, task),
      intervalMs: spec.checkpointIntervalMs ?? CHECKPOINT_INTERVAL_MS,
      withinEpochMs: CHECKPOINT_WITHIN_EPOCH_MS,
    },
  };
  const noticed: DatasetWarning[] = [];
  const warn = (warning: DatasetWarning) => {
    noticed.push(warning);
    progress.warned([warning]);
  };
  const train = (executor: GraphExecutor) => trainModel({ ...input, executor });
  const { device: asked = 'cpu', threads } = spec;
  const choice = { device: asked, threads, cpu, input, warn };
  const { trained, device } = given
    ? { trained: await train(given), device: undefined }
    : await trainOnDevice(choice, train);
  progress.entered('export');
  // 8-bit weights are for the CPU, and so is what is measured of them.
  const finished = await finishModel({ ...input, executor: cpu }, trained, expert, spec.tuning);
  const { blend, refusal } = finished;
  if (refusal) warn(refusal);
  progress.blended(blend);
  const run = {
    hyperparameters,
    ...(backbone && { backbone }),
    ...(device && { device }),
    warnings: [...warnings, ...noticed],
  };
  const model = { family, task, encoder, ...rows, ...trained, ...run, ...finished };
  const evaluation = await explainMistakes({ executor: cpu, signal }, model, configOf(spec, model));
  await writeModel(spec, { ...model, ...(evaluation && { evaluation }) });
  await rm(work, { recursive: true, force: true });
  return trained.stats;
}

/** The backbone that the run starts from; undefined if `use_pretrained` is false, or there is none. */
async function openBackbone({ backbone, training_config }: TrainingSpec): Promise<Backbone | undefined> {
  if (backbone === undefined || training_config.use_pretrained === false) return undefined;
  return readBackbone(backbone);
}

/** Equal for two runs exactly if one may be resumed from the other's checkpoint. */
function fingerprintOf(
  { model_config, training_config, seed, tuning, backbone }: TrainingSpec,
  task: TrainingTask,
): string {
  const rows = [task.train.length, task.dev.length];
  const start = backbone && namedBackbone(backbone);
  return JSON.stringify({ model_config, training_config, seed, tuning, rows, start });
}
