import { randomUUID } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import {
  AbortedError,
  callResult,
  isOrchardError,
  type ModelConfig,
  type TrainingConfig,
  toOrchardError,
} from '../../contract/index.js';
import {
  counted,
  type DatasetWarning,
  invalid,
  quoted,
  type Rows,
  type RowsOrPath,
  requireUsedReading,
  rowsInUtf16,
  someOf,
  type TrainingRow,
  unusedReading,
} from '../../datasets/index.js';
import { accuracyInterval, macroF1Of } from '../../families/index.js';
import { defaultMemoryLimit } from '../../jobs/index.js';
import {
  type ClassFigures,
  claimFolder,
  type FoundModel,
  findModel,
  type ModelEvaluation,
  moveInto,
  type RecordedPart,
  readModelReport,
  writeFolder,
} from '../../models/index.js';
import { allItems, listAsOfNow, TemporaryDirectory } from '../../system/index.js';
import {
  type BackboneSource,
  backboneLoader,
  createTrainingHost,
  type DatasetSource,
  deviceWarning,
  loadBackbone,
  type TrainingHost,
  type TrainingRunEvent,
  type TrainingSpec,
} from '../../training/index.js';
import { evaluateModel } from '../evaluate.js';
import type { LearnOptions, TrainedModel, TrainingSummary } from '../model.js';
import { MODEL_FOLDER, OpenModel } from '../open-model.js';
import { requireNotRead, withAbsolutePaths } from '../paths.js';
import type { TrainOptions } from '../train.js';
import {
  type FoundType,
  nameOf,
  type PreparedDataset,
  prepareDataset,
  readingOf,
  requireUsedSettings,
} from './prepare-dataset.js';
import { readTable } from './read-apart.js';
import { type TrainSettings, trainSettings } from './train-options.js';

/** Prepares the data, trains, and opens the model. @throws as `train` fails */
export async function trainModel(options: TrainOptions): Promise<TrainedModel> {
  return trainInto(options, trainSettings(options));
}

/** Trains in the claimed folder of the output, if there is one. @throws as `train` fails */
async function trainInto(options: TrainOptions, settings: TrainSettings): Promise<TrainedModel> {
  const startedAt = performance.now();
  const { output, signal } = settings;
  if (signal?.aborted) throw new AbortedError('the training', { cause: signal.reason });
  await requireNotRead(output, { inputs: filesOf(settings), models: [settings.base] });
  const work = () => trainAndOpen(options, settings, { startedAt });
  return output === undefined ? work() : claimFolder(output, MODEL_FOLDER, 'output', work);
}

/** The files that training reads, and rows that are none. */
export function filesOf({ source, dev, test }: TrainSettings): readonly unknown[] {
  return [source.kind === 'path' ? source.path : undefined, dev, test];
}

interface TrainAndOpen {
  /** By the clock of `performance`. */
  readonly startedAt: number;
  /** Measures the trained model, or adds files to it, before it is where it belongs. */
  readonly finish?: (directory: string) => Promise<void>;
}

/** The work of `train`, in the claimed folder of its output. @throws as `train` fails, and what `finish` throws */
export async function trainAndOpen(
  options: TrainOptions,
  given: TrainSettings,
  { startedAt, finish }: TrainAndOpen,
): Promise<TrainedModel> {
  const reusable = await readOnce(given);
  const settings = { ...given, ...reusable };
  const { base, modelLoader, signal } = settings;
  const placedBase = base === undefined ? undefined : await findModel(base, { modelLoader, backbones: true, signal });
  const { isolation, memoryLimit = defaultMemoryLimit() } = settings;
  const host = createTrainingHost(isolation, { first: { memoryLimit } });
  const work = new TemporaryDirectory();
  try {
    const prepared = await prepareDataset(settings, await work.path());
    await requireUsed(prepared, settings);
    const { dataset, type, rows, readAs } = prepared;
    const model = { name: nameOf(settings), type: type.type, family: type.family };
    const trained = await trainInFolder({ dataset, model, base: placedBase }, settings, host);
    await finish?.(trained.directory).catch(async (thrown: unknown) => {
      await trained.remove();
      throw thrown;
    });
    const opened = await openTrained(trained, { ...type, readAs }, (performance.now() - startedAt) / 1000, settings);
    const again = { ...options, ...reusable, name: nameOf(settings) };
    return Object.assign(opened, { learn: learning(again, rows) });
  } finally {
    await host.close();
    await work.remove();
  }
}

/**
 * The rows of `test` are read for it if only they may have a use for an option for reading.
 * @throws ValidationError for an option that neither the rows nor the type have a use for; DatasetError; AbortedError
 */
export async function requireUsed({ read, type }: PreparedDataset, settings: TrainSettings): Promise<void> {
  requireUsedSettings(type, settings);
  const { test, signal, hasReadRows = false } = settings;
  if (hasReadRows || read === undefined || unusedReading(read, settings).length === 0) return;
  const isMultilabel = type.type === 'multilabel-text-classification';
  const reading = test === undefined ? {} : readingOf(test, settings);
  const others =
    test === undefined ? [] : [await readTable({ rows: test, option: 'test', reading, isMultilabel, signal })];
  requireUsedReading([...read, ...others], settings);
}

/** What is read again, as arrays: an iterable may give its items only once. @throws AbortedError; what an iterable throws */
export async function readOnce({ passages, dev, test, signal }: TrainSettings) {
  return {
    passages: passages && (await arrayOf(passages, signal)),
    dev: isIterable(dev) ? await arrayOf(dev, signal) : dev,
    test: isIterable(test) ? await arrayOf(test, signal) : test,
  };
}

/** Rows that aren't iterable are refused where they are read. */
const isIterable = (rows: RowsOrPath | undefined): rows is Rows =>
  typeof rows === 'object' && (Symbol.iterator in rows || Symbol.asyncIterator in rows);

async function arrayOf<Item>(
  items: Iterable<Item> | AsyncIterable<Item>,
  signal: AbortSignal | undefined,
): Promise<readonly Item[]> {
  return Array.isArray(items) ? items : allItems(items, { doing: 'the training', signal });
}

/** Trains on the rows of an earlier run and further ones. @param rows undefined of an archive. */
function learning(options: TrainOptions, rows: Iterable<TrainingRow> | undefined) {
  const learn = async (more: Rows, changes: LearnOptions = {}): Promise<TrainedModel> => {
    if (rows === undefined) {
      throw invalid(['rows'], 'the model was trained on an archive; add the rows to the archive and train again');
    }
    const { rows: _, path, url, output, onProgress, signal, ...kept } = options;
    const changed = withAbsolutePaths(changes);
    const again: TrainOptions = { ...kept, ...changed };
    async function* all() {
      yield* rows ?? [];
      yield* await rowsInUtf16(more, again.offsets, again.signal);
    }
    await requireNotRead(changed.output, { inputs: [path, url] }); // `rows` may be read from this file
    const settings = { ...trainSettings({ ...again, rows: all() }), hasReadRows: true };
    return trainInto({ ...again, path, url }, settings);
  };
  return (more: Rows, changes?: LearnOptions) => callResult(learn(listAsOfNow(more), changes), 'training a model');
}

/**
 * Moves a trained model to `output`, opens it and, if `test` rows were given, evaluates it on them. Without `output`, the
 * model stays in its temporary folder until it is closed.
 * @param seconds how long it took, for the summary.
 */
export async function openTrained(
  trained: TrainedFolder,
  found: FoundType & Pick<PreparedDataset, 'readAs'>,
  seconds: number,
  settings: TrainSettings,
): Promise<Omit<TrainedModel, 'learn'>> {
  try {
    return await moveAndOpen(trained, found, seconds, settings);
  } catch (thrown) {
    await trained.remove();
    throw thrown;
  }
}

async function moveAndOpen(
  { directory: trainedIn, remove, warnings }: TrainedFolder,
  { type, typeIs, reason, readAs }: FoundType & Pick<PreparedDataset, 'readAs'>,
  seconds: number,
  settings: TrainSettings,
): Promise<Omit<TrainedModel, 'learn'>> {
  const { output, device, test, signal } = settings;
  if (output !== undefined) {
    await writeFolder(output, MODEL_FOLDER, (made) => moveInto(trainedIn, made)).finally(remove);
  }
  const directory = output === undefined ? trainedIn : resolve(output);
  const { training: recorded, evaluation: recordedEvaluation } = await readModelReport(directory);
  const { dataset, parts, hyperparameters } = recorded;
  const { accuracy, f1, topk }: Partial<RecordedPart> = parts?.blend ?? {};
  const { train_rows: train = 0, dev_rows: dev = 0, folds } = dataset ?? {};
  const judgedRows = dataset?.judged_rows ?? dev;
  const training: TrainingSummary = {
    ...{ type, typeIs, reason, seconds, train, dev, judgedRows },
    warnings: [...warnings, ...notFound(recordedEvaluation?.classes ?? [])],
    method: train === 0 ? 'label-names' : hyperparameters.trainedEncoder === false ? 'frozen-encoder' : 'fine-tuning',
    ...(readAs !== undefined && { readAs }),
    ...(folds !== undefined && { folds }),
    ...(accuracy !== undefined && { accuracy, interval: accuracyInterval(accuracy, judgedRows) }),
    ...(f1 !== undefined && { f1 }),
    ...(f1 !== undefined && recorded.positive !== undefined && { positive: recorded.positive }),
    ...(recordedEvaluation && classSummary(recordedEvaluation)),
    ...(topk !== undefined && { topk }),
    ...(parts && { parts }),
  };
  const onClose = output === undefined ? remove : undefined;
  const placed = { name: nameOf(settings), directory };
  const model = await OpenModel.open(placed, { service: { device }, signal, ...(onClose && { onClose }) });
  if (test === undefined) return Object.assign(model, { training });
  const { positive } = settings;
  const asked = { signal, positive, ...readingOf(test, settings) };
  try {
    const evaluation = await evaluateModel(model, test, asked, { isReadElsewhere: true });
    return Object.assign(model, { training: { ...training, test: evaluation } });
  } catch (thrown) {
    await model.close();
    throw thrown;
  }
}

function classSummary(evaluation: ModelEvaluation): Pick<TrainingSummary, 'macroF1' | 'classes'> {
  const { classes = [] } = evaluation;
  return classes.length === 0 ? {} : { classes, macroF1: macroF1Of(evaluation) };
}

/** F1 hides it in a binary model, whose F1 is of its second label, and accuracy hides it wherever a label is rare. */
function notFound(classes: readonly ClassFigures[]): readonly DatasetWarning[] {
  const missed = classes.filter(({ recall, support }) => recall === 0 && support > 0);
  if (missed.length === 0) return [];
  const listed = someOf(missed.map(({ label, support }) => `${quoted(label)} (${counted(support, 'occurrence')})`));
  const message = `the model never predicts ${listed} correctly in the rows that it was evaluated on; add rows with ${missed.length === 1 ? 'this label' : 'these labels'}`;
  return [{ kind: 'label_not_found', count: missed.length, message, examples: [] }];
}

interface TrainingInput {
  readonly dataset: DatasetSource;
  readonly model: Pick<ModelConfig, 'name' | 'type' | 'family'>;
  /** What it starts from. Default: the backbone of its language and size. */
  readonly base?: FoundModel | undefined;
}

export interface TrainedFolder {
  readonly directory: string;
  readonly warnings: readonly DatasetWarning[];
  readonly remove: () => Promise<void>;
}

/** Closes the host. @throws what the training or `onProgress` throws; AbortedError when the signal fires */
export async function trainInFolder(
  job: TrainingInput,
  settings: TrainSettings,
  host = createTrainingHost(settings.isolation),
): Promise<TrainedFolder> {
  const folder = new TemporaryDirectory();
  const run = new Run(settings);
  const remove = () => folder.remove();
  try {
    const directory = await folder.path();
    await run.train(job, directory, host);
    return { directory, warnings: run.warnings, remove };
  } catch (thrown) {
    await remove();
    throw run.reasonFor(thrown);
  }
}

class Run {
  readonly #id = randomUUID();
  readonly #settings: TrainSettings;
  readonly #stop = new AbortController();
  #listenerFailure: { readonly thrown: unknown } | undefined;
  warnings: readonly DatasetWarning[] = [];

  constructor(settings: TrainSettings) {
    this.#settings = settings;
  }

  async train(job: TrainingInput, directory: string, host: TrainingHost): Promise<void> {
    const { signal, device } = this.#settings;
    const stop = () => this.#stop.abort('cancelled');
    signal?.addEventListener('abort', stop, { once: true });
    if (signal?.aborted) stop();
    const options = { signal: this.#stop.signal, onEvent: (event: TrainingRunEvent) => this.#tell(event) };
    try {
      this.#tellState('RUNNING');
      const spec = await this.#spec(job, directory);
      await host.run({ ...spec, device }, options).catch((thrown: unknown) => {
        this.#requireLostDevice(thrown);
        return host.run({ ...spec, device: 'cpu' }, options);
      });
      this.#tellState('READY');
      if (this.#listenerFailure) throw this.#listenerFailure.thrown;
    } finally {
      await host.close();
      signal?.removeEventListener('abort', stop);
    }
  }

  reasonFor(thrown: unknown): unknown {
    const { signal } = this.#settings;
    if (this.#listenerFailure) return this.#listenerFailure.thrown;
    if (signal?.aborted) return new AbortedError('the training', { cause: signal.reason });
    return toOrchardError(thrown, 'training');
  }

  async #spec({ dataset, model, base }: TrainingInput, directory: string): Promise<Omit<TrainingSpec, 'device'>> {
    const { size, seed, effort, device, positive, rules } = this.#settings;
    const tuning = { ...this.#settings.tuning, ...(effort && { effort }) };
    const { threads = availableParallelism(), memoryLimit = defaultMemoryLimit() } = this.#settings;
    const model_config: ModelConfig = { ...model, size };
    const training_config = trainingConfig(this.#settings);
    const backbone = await this.#backbone(model_config, training_config, base);
    return {
      ...{ id: this.#id, dataset, directory, model_config, training_config },
      ...{ threads, memoryLimit, seed, tuning },
      ...(positive !== undefined && { positive }),
      ...(this.#settings.trainsEncoder && { trainsEncoder: true }),
      ...(rules && { rules }),
      ...(backbone && { backbone }),
      // Only a run that lost its device goes on from a checkpoint.
      ...(device === 'cpu' && { checkpointIntervalMs: Number.POSITIVE_INFINITY }),
    };
  }

  async #backbone(
    model_config: ModelConfig,
    training_config: TrainingConfig,
    base: FoundModel | undefined,
  ): Promise<BackboneSource | undefined> {
    if (training_config.use_pretrained === false) return undefined;
    if (base !== undefined) return base;
    const { signal } = this.#stop;
    const asked = { model_config, training_config };
    return loadBackbone(backboneLoader({ backbone: null }), null, asked, signal, (progress) =>
      this.#tell({ type: 'backbone', ...progress }),
    );
  }

  /** The CPU goes on where a device was lost. @throws `thrown` if it is anything else */
  #requireLostDevice(thrown: unknown): void {
    const isLost = isOrchardError(thrown) && thrown.code === 'device' && this.#settings.device !== 'cpu';
    if (!isLost || this.#stop.signal.aborted) throw thrown;
    this.warnings = [];
    this.#tell({ type: 'warnings', warnings: [deviceWarning(thrown.message)] });
  }

  #tell(event: TrainingRunEvent): void {
    if (event.type === 'warnings') this.warnings = [...this.warnings, ...event.warnings];
    this.#listen(() => this.#settings.onProgress?.({ ...event, id: this.#id }));
  }

  #tellState(status: 'RUNNING' | 'READY'): void {
    const at = new Date().toISOString();
    this.#listen(() => this.#settings.onProgress?.({ type: 'state', id: this.#id, status, at }));
  }

  /** What a listener throws stops the training. */
  #listen(call: () => void): void {
    if (this.#listenerFailure) return;
    try {
      call();
    } catch (thrown) {
      this.#listenerFailure = { thrown };
      this.#stop.abort('cancelled');
    }
  }
}

function trainingConfig(settings: TrainSettings): TrainingConfig {
  const { epochs, learningRate, batchSize, language, augment, pretrained, lowercase } = settings;
  return {
    num_epochs: epochs,
    learning_rate: learningRate,
    batch_size: batchSize,
    language,
    data_augmentation: augment,
    use_pretrained: pretrained,
    ...(lowercase !== undefined && { preprocessing: { lowercase } }),
  };
}
