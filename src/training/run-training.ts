import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type ExecutionProvider,
  InstallationError,
  TrainingError,
  type TrainingStats,
  toOrchardError,
} from '../contract/index.js';
import { counted, type DatasetWarning } from '../datasets/index.js';
import { BASELINE_FILE, type Baseline } from '../drift/index.js';
import { type Encoder, newEncoder } from '../encoder/index.js';
import { calibrate, Evaluator } from '../engine/index.js';
import {
  type Dataset,
  ExplainedText,
  type ExplainedWord,
  type Family,
  type FewRowsChoices,
  type FinishedTask,
  families,
  type Judgement,
  type ModelFile,
  RuleSet,
  readDataset,
  ruledAnswers,
  ruledDecoder,
  type TrainedExpert,
  type TrainingTask,
} from '../families/index.js';
import { cpuExecutor, type GraphExecutor, type Quantization, runtimeProblem } from '../graph/index.js';
import {
  type Mistake,
  type ModelEvaluation,
  type ModelFolderConfig,
  type NamedTensor,
  QUANTIZED_ONNX_FILE,
  type RecordedPrecision,
  RULES_FILE,
  requireFittingRules,
  rulesContent,
  type TrainingRecord,
  type WeighedWord,
  writeModelFolder,
} from '../models/index.js';
import { runtimeVersions, type Steps, withPauses } from '../system/index.js';
import {
  type BertTokenizerJson,
  defaultWindowOverlap,
  englishTokenizer,
  loadTokenizer,
  type ReadingFields,
  singleTexts,
  type TextOutputs,
  TextReader,
  type TextWindow,
  type Tokenizer,
  tokenizerConfig,
  withTimeLimit,
  wordPieceSteps,
} from '../text/index.js';
import { type Backbone, type LoadedTokenizer, readBackbone, withHead } from './backbone.js';
import type { BackboneSource } from './backbone-files.js';
import { labelWarnings } from './check-labels.js';
import { checkpointFile, WORK_FOLDER } from './checkpoint-mark.js';
import { trainOnDevice } from './choose-device.js';
import { configForOthers, exportOnnx, modelFolderConfig } from './export-model.js';
import { fewRowsTaskOf, leavesMethodOpen, trainFewRows } from './few-rows.js';
import { frozenBackbone } from './frozen-backbone.js';
import {
  askedLowercase,
  type Hyperparameters,
  MAX_TOKENS,
  MAX_VOCABULARY,
  resolveHyperparameters,
  type Tuning,
} from './hyperparameters.js';
import { unfamiliarTexts } from './known-texts.js';
import { estimateMemory, requireMemory } from './memory-estimate.js';
import { ProgressReporter } from './progress-reporter.js';
import { trainingBaseline } from './training-baseline.js';
import { type LoopInput, runTrainingLoop, type TrainedModel } from './training-loop.js';
import type { TrainingRunOptions, TrainingSpec } from './training-run.js';

const NO_ROWS =
  'without rows, a classifier is a linear layer over a frozen backbone, computed on the CPU; give rows, or leave out `epochs`, `learningRate`, `batchSize` and `device` (also `augment`, `pretrained: false`, `tuning.tokenDropout`, `tuning.labelSmoothing`, `tuning.adapters` and `tuning.freeze`)';

/** A crash loses at most this much of a run, and the epoch in progress. */
const CHECKPOINT_INTERVAL_MS = 30_000;
/** An epoch may take an hour; a process that dies then should not lose all of it. */
const CHECKPOINT_WITHIN_EPOCH_MS = 300_000;

/**
 * One training run, from its rows to a model folder in `spec.directory`: reads the rows, prepares the backbone and the
 * tokens, trains on the chosen device, blends the encoder with its lexical expert, evaluates, and writes the folder.
 * @param given computes in place of the devices of ONNX Runtime.
 * @throws the errors of its steps; an AbortedError when the signal fires.
 */
export async function runTraining(
  spec: TrainingSpec,
  { signal, onEvent }: TrainingRunOptions,
  given?: GraphExecutor,
): Promise<TrainingStats> {
  if (given === undefined) await requireRuntime();
  const work = join(spec.directory, WORK_FOLDER);
  const progress = new ProgressReporter(onEvent);
  const family = families[spec.model_config.family];
  const { task: taskOf } = await family.training();
  const dataset = await readRows(spec, family, work, signal, progress);

  progress.entered('prepare');
  const startsPretrained = spec.training_config.use_pretrained !== false;
  const read = spec.backbone && startsPretrained ? await readBackbone(spec.backbone) : undefined;
  const rules = spec.rules && (await withPauses(RuleSet.build(spec.rules, withTimeLimit), signal));
  const asked = taskOf(dataset, read?.head, { positive: spec.positive, rules });
  if (spec.rules) requireFittingRules(spec.rules, family.answerView, asked.describe());
  const { continuesHead = false } = asked;
  const backbone = read && continuesHead ? withHead(read) : read;
  const untrained = backbone && leavesMethodOpen(spec) ? asked.untrained : undefined;
  const plain = untrained ?? asked;
  const frozen = frozenBackbone(spec.id, spec.tuning, plain.head, backbone);
  const fewRows = fewRowsTaskOf(plain, spec, backbone);
  if (fewRows === undefined && plain.fewRows?.trainRows === 0)
    throw new TrainingError(`training job ${spec.id}: ${NO_ROWS}`);
  const resolved = resolveHyperparameters(
    spec.model_config,
    spec.training_config,
    plain.train.slice(0, plain.examples?.train),
    spec.tuning,
    backbone,
  );
  const hyperparameters = {
    ...resolved,
    ...(fewRows && { epochs: 1, batchSize: fewRows.trainRows }),
    ...(untrained && { epochs: 0 }),
  };
  progress.planned(hyperparameters.epochs, hyperparameters.batchSize);
  const estimate = estimateMemory(plain, spec, hyperparameters, backbone?.encoder, frozen);
  requireMemory(spec.id, estimate, spec.memoryLimit);
  const { lowercase, language, balanced } = hyperparameters;
  const task = hyperparameters.augment ? { ...plain.augmented({ seed: spec.seed, lowercase }), continuesHead } : plain;
  const rows = await tokenize(task, family, hyperparameters, backbone, signal);
  const singles = singleTexts(task.train, rows.reading.parts);
  const unfamiliar =
    backbone &&
    (await withPauses(
      unfamiliarTexts(singles, {
        encoder: `the backbone ${backbone.source.name}`,
        tokenizer: backbone.tokenizer.tokenizer,
        advice: FAMILIAR_BACKBONE,
      }),
      signal,
    ));
  const warnings = [
    ...task.warnings,
    ...(fewRows ? [] : (plain.warningsOfEpochs ?? [])),
    ...runWarnings(spec, rows, hyperparameters, backbone),
    ...(unfamiliar ? [unfamiliar] : []),
  ];
  progress.warned(warnings);
  const encoder = backbone?.encoder ?? newEncoder(spec.model_config.size, rows.vocabularySize);
  const cpu = given ?? cpuExecutor(spec.threads);
  const parts = { family, task, encoder, ...rows, hyperparameters, ...(backbone && { backbone }) };
  if (fewRows && backbone) {
    const run = { ...parts, fewRows, backbone, executor: cpu, seed: spec.seed, signal, progress };
    const { trained, finished } = await trainFewRows({
      ...run,
      effort: spec.tuning.effort,
      quantize: spec.tuning.quantize !== false,
    });
    progress.epochEnded(trained.stats, finished.judged.rows, task.positive);
    progress.entered('export');
    progress.blended(finished.blend);
    progress.warned(finished.warnings);
    const all = [...warnings, ...finished.warnings];
    const model = { ...parts, ...trained, ...finished, warnings: all };
    await writeModel(spec, { ...model, ...(await baselineOf(spec, model, plain, { executor: cpu, signal })) });
    await rm(work, { recursive: true, force: true });
    return trained.stats;
  }
  const expert = await task.trainExpert({ lowercase, language, balanced, seed: spec.seed, signal });
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
  const check = { ...input, task: plain, backbone, reader: rows.reader, executor: cpu };
  for (const warning of await labelWarnings(check)) warn(warning);
  const train = (executor: GraphExecutor) => runTrainingLoop({ ...input, executor });
  const choice = { device: spec.device ?? 'cpu', threads: spec.threads, cpu, input, warn };
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
    ...(device && { device }),
    warnings: [...warnings, ...noticed],
    ...(untrained && judgedUntrained(untrained)),
  };
  const model = { ...parts, ...trained, ...run, ...finished };
  const evaluation = await explainMistakes({ executor: cpu, signal }, { ...model, rules }, configOf(spec, model));
  const baseline = await baselineOf(spec, model, plain, { executor: cpu, signal });
  await writeModel(spec, { ...model, ...(evaluation && { evaluation }), ...baseline });
  await rm(work, { recursive: true, force: true });
  return trained.stats;
}

/** @throws InstallationError where ONNX Runtime is missing */
async function requireRuntime(): Promise<void> {
  const problem = await runtimeProblem();
  if (problem === undefined) return;
  const { missing, advice } = problem;
  throw new InstallationError(missing, `${advice}; training needs it, because WebAssembly only runs models`, {
    cause: problem,
  });
}

/**
 * The rows of a run: those of its spec, or of an archive, which is fetched, unpacked under `directory` and read.
 * @throws ValidationError, DownloadError, DatasetError, TrainingError if it is too large for the memory; AbortedError when the signal fires.
 */
async function readRows(
  spec: TrainingSpec,
  family: Family,
  directory: string,
  signal: AbortSignal,
  progress: ProgressReporter,
): Promise<Dataset> {
  const { dataset, model_config } = spec;
  if ('rows' in dataset) return dataset.rows;
  if ('file' in dataset) return readDataset(dataset.file);
  const { read } = await family.rows();
  if ('folder' in dataset) {
    progress.entered('read');
    return read(dataset.folder, model_config.type, signal);
  }
  const { fetchArchive } = await import('./fetch-archive.js'); // rows and folders need no network
  const folder = await fetchArchive(dataset.url, spec, directory, signal, progress);
  return read(folder, model_config.type, signal);
}

const FAMILIAR_BACKBONE =
  "set `language` to the language of the texts, or start from a multilingual backbone with `base: 'intfloat/multilingual-e5-small'` (to compare with random weights, set `pretrained: false`)";

/** What the user should know of a run, besides the warnings about its dataset. */
function runWarnings(
  { model_config, training_config }: TrainingSpec,
  { train, reading }: Pick<TokenizedRows, 'train' | 'reading'>,
  { pretrained, maxTokens, language }: Hyperparameters,
  backbone: Backbone | undefined,
): DatasetWarning[] {
  const warnings: DatasetWarning[] = [];
  const warn = (kind: DatasetWarning['kind'], count: number, message: string) =>
    warnings.push({ kind, count, message, examples: [] });
  const truncated = train.filter(({ encoding }) => encoding.truncated > 0).length;
  if (truncated > 0) {
    const texts = counted(truncated, 'training text is', 'training texts are');
    const rest = `the encoder ignored the rest of ${truncated === 1 ? 'it' : 'each'}`;
    warn('truncated_text', truncated, `${texts} longer than ${maxTokens} tokens; ${rest}`);
  }
  if (pretrained && backbone === undefined) {
    const { size } = model_config;
    const lacking = `there is no backbone for ${language} in size ${size}, so training started from random weights`;
    const advice =
      'the package orchard-nlp-models has backbones for English (mini and base) and Japanese (mini); for others, name one with `base` (to start from random weights without this warning, set `pretrained: false`)';
    warn('no_backbone', 1, `${lacking}; ${advice}`);
  }
  const asked = askedLowercase(model_config, training_config);
  if (backbone && asked !== undefined && asked !== backbone.lowercase && reading.token_types !== 'capitals') {
    const reads = backbone.lowercase ? 'lowercases texts' : 'distinguishes upper and lower case';
    const message = `\`lowercase\` is ${asked}, but the backbone ${backbone.source.name} ${reads}, and so does the encoder; only the lexical expert follows this setting`;
    warn('backbone_lowercase', 1, message);
  }
  return warnings;
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

/** Largest loss on dev with which a model still answers with 8-bit weights: half a point. */
const MAX_LOSS = 0.005;

/** A trained model blended with its expert, in the precision that it will answer in. */
interface FinishedPrecision extends FinishedTask {
  readonly quantization?: Quantization;
  readonly precision?: RecordedPrecision;
  readonly refusal?: DatasetWarning;
}

/**
 * Fits the blend of encoder and expert. Unless `quantize` is false, dev is also evaluated with 8-bit weights; if
 * they hold up, blend and figures are fitted to their outputs, since the model answers with them. An executor
 * that has no such weights leaves the model in float32, with a warning if they were asked for.
 * @throws AbortedError when the signal fires.
 */
export async function finishModel(
  input: LoopInput,
  { weights, fixed, devOutputs }: TrainedModel,
  expert: TrainedExpert,
  { quantize }: Tuning,
): Promise<FinishedPrecision> {
  const { task, encoder, train, dev, executor, signal } = input;
  const plain = await expert.finish(devOutputs, signal);
  if (quantize === false) return plain;
  if (!input.executor.quantizes) {
    return quantize ? { ...plain, refusal: refusal('the executor does not support 8-bit weights') } : plain;
  }
  const texts = train.map(({ encoding }) => encoding);
  const quantization = await calibrate(executor, task.head, encoder, fixed, texts, signal);
  const evaluator = await Evaluator.create(executor, task.head, encoder, { weights, quantization });
  const outputs = await evaluator.outputs(dev, {}, signal).finally(() => evaluator.release());
  const quantized = await expert.finish(outputs, signal);
  const float32 = plain.blend.blend.value;
  const int8 = quantized.blend.blend.value;
  if (int8 >= float32 - MAX_LOSS) {
    return { ...quantized, quantization, precision: { float32, int8, answers: 'int8' } };
  }
  const precision = { float32, int8, answers: 'float32' } as const;
  const points = (100 * (float32 - int8)).toFixed(1);
  const reason = `8-bit weights would lower the main metric on the dev rows by ${points} percentage points`;
  return { ...plain, precision, refusal: refusal(reason) };
}

function refusal(reason: string): DatasetWarning {
  return { kind: 'float32_kept', count: 1, message: `${reason}, so the model answers in float32`, examples: [] };
}

interface FinishedModel extends TokenizedRows, Omit<TrainedModel, 'devOutputs'>, FinishedPrecision {
  readonly family: Family;
  readonly task: TrainingTask;
  readonly encoder: Encoder;
  readonly hyperparameters: Hyperparameters;
  readonly warnings: readonly DatasetWarning[];
  readonly device?: ExecutionProvider;
  readonly backbone?: Backbone;
  /** How the rows of its figures were judged, and what was chosen, if it learned from few rows. */
  readonly judged?: Judgement;
  readonly choices?: Partial<FewRowsChoices> & { readonly trainedEncoder: boolean };
  readonly baseline?: Baseline;
}

/** How many of the most confident mistakes are explained: each has the encoder read its text once for every word. */
const EXPLAINED_MISTAKES = 10;

/**
 * What the model says about dev, with the words that moved it where it was surest of what is wrong. Of families that
 * answer with labels; the texts are explained as far as the report shows them.
 * @throws AbortedError when the signal fires.
 */
async function explainMistakes(
  input: Pick<LoopInput, 'executor' | 'signal'>,
  model: FinishedModel & { readonly rules: RuleSet | undefined },
  config: ModelFolderConfig,
): Promise<ModelEvaluation | undefined> {
  const { evaluation, family, files, reader, rules } = model;
  if (evaluation === undefined || evaluation.mistakes.length === 0 || family.answerView !== 'labels') {
    return evaluation;
  }
  const modelFiles = new Map([...files].map(([file, bytes]): [string, ModelFile] => [file, { bytes, file }]));
  const decoder = await family.decoder(config, modelFiles);
  const { explainer } = rules ? ruledDecoder(decoder, rules, ruledAnswers(family.answerView, config.orchard)) : decoder;
  if (explainer === undefined) return evaluation;
  const readings: { mistake: Mistake; whole: readonly TextWindow[]; explained: ExplainedText }[] = [];
  for (const mistake of evaluation.mistakes.slice(0, EXPLAINED_MISTAKES)) {
    const whole = reader.windowsOf(mistake.text, 0);
    const explained = new ExplainedText(explainer, mistake.text);
    await withPauses(explained.read(reader, whole, 0), input.signal);
    readings.push({ mistake, whole, explained });
  }
  const windows = readings.flatMap(({ whole, explained }) => [...whole, ...explained.windows]);
  const outputsOf = await outputsOfWindows(input, model, windows);
  const mistakes: Mistake[] = [];
  for (const { mistake, whole, explained } of readings) {
    const label = [...mistake.predicted, ...mistake.expected].find((each) => config.orchard.labels.includes(each));
    const steps = explained.explain(outputsOf(whole), outputsOf, { label });
    const [answer] = (await withPauses(steps, input.signal)).explained;
    mistakes.push({ ...mistake, words: (answer?.words ?? []).map(placed) });
  }
  return { ...evaluation, mistakes: [...mistakes, ...evaluation.mistakes.slice(mistakes.length)] };
}

async function outputsOfWindows(
  { executor, signal }: Pick<LoopInput, 'executor' | 'signal'>,
  { task, encoder, weights, quantization }: FinishedModel,
  windows: readonly TextWindow[],
): Promise<(some: readonly TextWindow[]) => TextOutputs> {
  const fixed = { weights, ...(quantization && { quantization }) };
  const evaluator = await Evaluator.create(executor, task.head, encoder, fixed);
  const rows = windows.map((window, row) => ({ ...window, row }));
  const outputs = await evaluator.outputs(rows, {}, signal).finally(() => evaluator.release());
  const computed = new Map(windows.map((window, row) => [window, outputs[row] ?? []]));
  return (some) => some.flatMap((window) => computed.get(window) ?? []);
}

/** A weight to the digits that a colour can tell. */
function placed({ word, start, weight }: ExplainedWord): WeighedWord {
  return { start, end: start + word.length, weight: Math.round(weight * 1000) / 1000 };
}

/** Each row is answered by a model that has not seen it: a fold of its own. */
function judgedUntrained({ examples, train }: TrainingTask): Pick<FinishedModel, 'judged' | 'choices'> {
  const rows = examples?.train ?? train.length;
  return { judged: { rows, folds: rows }, choices: { trainedEncoder: false } };
}

/** @param plain the task without edited copies of rows */
async function baselineOf(
  spec: TrainingSpec,
  model: FinishedModel,
  plain: TrainingTask,
  { executor, signal }: Pick<LoopInput, 'executor' | 'signal'>,
): Promise<Pick<FinishedModel, 'baseline'>> {
  const { family, judged, choices, hyperparameters } = model;
  const parts = {
    ...model,
    task: plain,
    labels: family.answerView === 'passages' ? undefined : family.classNames(configOf(spec, model)).names,
    maxTokens: hyperparameters.maxTokens,
    hasLearned: judged?.folds !== undefined && choices?.trainedEncoder === true,
  };
  const baseline = await trainingBaseline(parts, { executor, seed: spec.seed, signal });
  return baseline === undefined ? {} : { baseline };
}

async function writeModel(spec: TrainingSpec, model: FinishedModel): Promise<void> {
  const { family, encoder, evaluation, quantization, baseline } = model;
  const files = filesOf(spec, model);
  const familyTraining = await family.training();
  const config = configForOthers(configOf(spec, model), familyTraining);
  const training = recordOf(spec, model);
  const { reportFiles } = await import('../report/index.js'); // the first step needn't wait for it
  const report = reportFiles({ config, training, ...(evaluation && { evaluation }) });
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
      ...(baseline ? [[BASELINE_FILE, JSON.stringify(baseline)] as const] : []),
    ]),
    onnx,
    ...(quantizedOnnx && { quantizedOnnx }),
    training,
  });
}

/** Those that its answers need. */
function filesOf({ rules }: TrainingSpec, { files }: FinishedModel): ReadonlyMap<string, Uint8Array> {
  return rules ? new Map([...files, [RULES_FILE, rulesContent(rules)]]) : files;
}

function configOf(spec: TrainingSpec, model: FinishedModel): ModelFolderConfig {
  const { model_config, rules } = spec;
  const { task, encoder, blend, hyperparameters, reading, backbone, quantization, evidence } = model;
  return modelFolderConfig(
    encoder,
    model_config,
    {
      ...task.describe(),
      blend: blend.blend.weights,
      ...(evidence && { evidence }),
      files: [...filesOf(spec, model).keys()],
      ...(rules && { rules: rules.length }),
      lowercase: hyperparameters.lowercase,
      ...(backbone && { backbone: backbone.source.name }),
      ...(quantization && { graph: QUANTIZED_ONNX_FILE }),
    },
    reading,
  );
}

function recordOf(
  { model_config, training_config, seed, rules }: TrainingSpec,
  { task, hyperparameters, backbone, stats, blend, precision, warnings, device, judged, choices }: FinishedModel,
): TrainingRecord {
  const { maxTokens, language, lowercase, pretrained, balanced } = hyperparameters;
  const ofLayer = choices && { maxTokens, language, lowercase, pretrained, balanced, ...choices };
  const given = {
    train_rows: task.examples?.train ?? task.train.length,
    dev_rows: task.examples?.dev ?? task.dev.length,
  };
  return {
    model_config,
    training_config,
    hyperparameters: ofLayer ?? { ...hyperparameters },
    ...(backbone && { backbone: namedBackbone(backbone.source) }),
    seed,
    ...(rules && { rules: rules.length }),
    ...(device && { device }),
    training_stats: stats,
    parts: blend,
    ...(task.positive !== undefined && { positive: task.positive }),
    ...(precision && { precision }),
    warnings,
    dataset:
      judged?.folds === undefined
        ? given
        : { train_rows: given.train_rows + given.dev_rows, dev_rows: 0, folds: judged.folds, judged_rows: judged.rows },
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
function namedBackbone({ name, revision }: BackboneSource): NonNullable<TrainingRecord['backbone']> {
  return { name, ...(revision !== undefined && { revision }) };
}

type ReadingFamily = Pick<Family, 'longTexts' | 'marksCapitals'>;
type ReadingBackbone = Pick<Backbone, 'tokenizer' | 'lowercase' | 'encoder'>;
type ReadTask = Pick<TrainingTask, 'train' | 'dev' | 'describe'>;

/** Rows of a task as token ids, and the tokenizer that made them. */
interface TokenizedRows {
  /** The tokenizer's files, parsed: tokenizer.json and tokenizer_config.json. */
  readonly tokenizerJson: unknown;
  readonly tokenizerConfig: object;
  readonly vocabularySize: number;
  readonly maskId: number;
  /** How texts are read. The model folder keeps it, so that queries are read as the rows were. */
  readonly reading: ReadingFields;
  readonly reader: TextReader;
  readonly tokenizer: Tokenizer;
  readonly train: readonly TextWindow[];
  readonly dev: readonly TextWindow[];
}

/**
 * Reads every row as the finished model will read texts.
 * @param backbone what training starts from. Without one, the tokenizer is the English vocabulary of this
 *   package, or one learned from the training texts.
 * @throws AbortedError soon after the signal fires.
 */
export async function tokenize(
  task: ReadTask,
  family: ReadingFamily,
  { lowercase, language, maxTokens }: Hyperparameters,
  backbone?: ReadingBackbone,
  signal?: AbortSignal,
): Promise<TokenizedRows> {
  const { pooling, parts } = task.describe();
  const texts = singleTexts(task.train, parts);
  const choosing = () => withPauses(chooseTokenizer(texts, lowercase, language), signal);
  const { json, config, tokenizer } = backbone?.tokenizer ?? (await choosing());
  const reading: ReadingFields = {
    max_tokens: maxTokens,
    pooling,
    ...(parts && { parts }),
    ...(family.longTexts === 'windows' && { window_overlap: defaultWindowOverlap(maxTokens) }),
    ...(marksCapitals(family, lowercase, backbone) && { token_types: 'capitals' }),
  };
  const reader = new TextReader(tokenizer, reading);
  return {
    tokenizerJson: json,
    tokenizerConfig: { ...config, model_max_length: maxTokens },
    vocabularySize: tokenizer.vocabularySize,
    maskId: tokenizer.specialTokens.mask,
    reading,
    reader,
    tokenizer,
    train: await withPauses(reader.reading(task.train), signal),
    dev: await withPauses(reader.reading(task.dev), signal),
  };
}

/**
 * Whether token types mark capitals: they do where case counts and the backbone's vocabulary has no capitals.
 * Vocabularies that are trained for such texts have capitals themselves.
 */
function marksCapitals(family: ReadingFamily, lowercase: boolean, backbone?: ReadingBackbone): boolean {
  if (backbone === undefined || lowercase) return false;
  return family.marksCapitals && backbone.lowercase && backbone.encoder.tokenTypes > 1;
}

function load(json: BertTokenizerJson): LoadedTokenizer {
  return { json, config: tokenizerConfig(json, MAX_TOKENS), tokenizer: loadTokenizer(json) };
}

/**
 * The bundled vocabulary of general English, where it fits: it has words that a small dataset lacks
 * (docs/training-defaults.md measures what that brings). Otherwise a vocabulary is trained.
 */
function* chooseTokenizer(texts: readonly string[], lowercase: boolean, language: string): Steps<LoadedTokenizer> {
  if (lowercase && language.toLowerCase() === 'english') {
    const english = load(englishTokenizer());
    if (yield* readsWell(english.tokenizer, texts)) return english;
  }
  return load(yield* wordPieceSteps(texts, { vocabularySize: MAX_VOCABULARY, lowercase, language }));
}

const TEXTS_TO_TRY = 1000;
/** English has about 1.3 pieces per word, punctuation included; texts in another language have several. */
const MAX_PIECES_PER_WORD = 2;

function* readsWell(tokenizer: Tokenizer, texts: readonly string[]): Steps<boolean> {
  let words = 0;
  let pieces = 0;
  for (const text of texts.slice(0, TEXTS_TO_TRY)) {
    yield;
    words += text.split(/\s+/u).length;
    pieces += tokenizer.encode(text).sequenceIds.filter((id) => id === 0).length;
  }
  return pieces <= MAX_PIECES_PER_WORD * words;
}
