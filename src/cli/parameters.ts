import { readFile } from 'node:fs/promises';
import type { LoadModelOptions, Model, TrainOptions } from '../api/index.js';
import {
  AGGREGATIONS,
  APP_ID,
  DEVICES,
  ENCODINGS,
  MAX_MODEL_NAME_LENGTH,
  MODEL_NAME,
  modelSizes,
  modelTypes,
  OFFSETS,
  orThrow,
  pretrainedModelNames,
  ROW_FORMATS,
  RUNTIMES,
  StorageError,
  WEIGHT_FORMS,
} from '../contract/index.js';
import type { ReadingOptions } from '../datasets/index.js';
import type { DataPlace } from '../http/index.js';
import type { TrainingEvent } from '../jobs/index.js';
import { type Parameter, type Settings, UsageError } from './command.js';
import type { Output, Progress } from './terminal.js';
import type { GivenTexts, TextOutput, TextSettings } from './text-input.js';

type Parse<Value> = (text: string) => Value;

/** A required argument. */
export function argument(usage: string, description: string): Parameter<string> {
  return { usage, description, parse: (given) => text(String(given ?? '')) };
}

export function list(usage: string, description: string): Parameter<readonly string[]> {
  return { usage, description, parse: (given) => (Array.isArray(given) ? given.map(String) : []) };
}

export function option(usage: string, description: string): Parameter<string | undefined>;
/** @param parse throws a UsageError that says what to give. */
export function option<Value>(usage: string, description: string, parse: Parse<Value>): Parameter<Value | undefined>;
export function option(usage: string, description: string, parse: Parse<unknown> = text): Parameter {
  return { usage, description, parse: (given) => (given === undefined ? undefined : parse(String(given))) };
}

export function choice<const Choice extends string>(
  usage: string,
  description: string,
  choices: readonly Choice[],
): Parameter<Choice | undefined> {
  const parse = (typed: string) => {
    const chosen = choices.find((each) => each === typed);
    if (chosen === undefined) throw new UsageError(`give one of ${choices.join(', ')}`);
    return chosen;
  };
  return { ...option(usage, description, parse), choices };
}

export function flag(usage: string, description: string): Parameter<boolean> {
  return { usage, description, parse: (given) => given === true };
}

export function required<Value>(of: Parameter<Value>): Parameter<NonNullable<Value>> {
  return {
    ...of,
    parse(given) {
      const value = of.parse(given);
      if (value === undefined || value === null) throw new UsageError('missing; this option is required');
      return value;
    },
  };
}

function text(typed: string): string {
  if (typed === '') throw new UsageError('the value is empty');
  return typed;
}

/** A parser for texts of a pattern. @param expected what to give, for the message */
export function matching(pattern: RegExp, expected: string, maxLength = Number.POSITIVE_INFINITY): Parse<string> {
  return (typed) => {
    if (!pattern.test(text(typed)) || typed.length > maxLength) throw new UsageError(`give ${expected}`);
    return typed;
  };
}

export function integer(least: number, most = 999_999_999): Parse<number> {
  const range = most < 999_999_999 ? `from ${least} to ${most}` : least > 0 ? `of at least ${least}` : '';
  return (typed) => {
    const number = /^\d{1,9}$/.test(typed) ? Number(typed) : Number.NaN;
    if (number >= least && number <= most) return number;
    throw new UsageError(`give a whole number ${range}`.trimEnd());
  };
}

export function decimal(typed: string): number {
  return Number(matching(/^\d*\.?\d+(e-?\d{1,2})?$/i, 'a number')(typed));
}

function share(typed: string): number {
  const number = decimal(typed);
  if (number > 0 && number < 1) return number;
  throw new UsageError('give a number above 0 and below 1');
}

export const deviceOption = choice(
  '--device <device>',
  'device to compute on; see orchard devices (default: cpu)',
  DEVICES,
);
export const runtimeOption = choice(
  '--runtime <runtime>',
  'what runs the encoder: onnx (native code), wasm (WebAssembly), or auto, which uses wasm if onnx is missing (default: auto)',
  RUNTIMES,
);
export const positiveOption = option(
  '--positive <label>',
  'classifiers with two labels: the label whose F1 is printed (default: the second)',
);
export const seedOption = option('--seed <number>', 'random seed (default: 0)', integer(0));

export const modelParameters = {
  model: {
    ...argument(
      '<model>',
      'model folder, checkpoint of transformers, name of a pretrained model, or owner/name on the Hub',
    ),
    suggestions: pretrainedModelNames,
  },
  device: deviceOption,
  runtime: runtimeOption,
  threads: option('--threads <number>', 'number of CPU threads (default: one per processor, at most 4)', integer(1)),
};
/** For commands that train a model or check rows. */
export const trainingThreadsOption = option(
  '--threads <number>',
  'number of CPU threads (default: one per processor)',
  integer(1),
);

/** How a checkpoint of transformers is read. */
export const checkpointOptions = {
  aggregation: choice(
    '--aggregation <how>',
    "how a checkpoint's token labels become entities, as in transformers (default: first for WordPiece, simple otherwise)",
    AGGREGATIONS,
  ),
  weights: choice('--weights <form>', 'precision of the weights of a checkpoint (default: float32)', WEIGHT_FORMS),
};

/** Of the answers to texts. @throws UsageError for --json with a format that isn't JSON */
export function lineFormat<Format extends string>(
  format: Format | undefined,
  { isJson }: Output,
): Format | 'text' | 'jsonl' {
  if (isJson && format !== undefined && format !== 'jsonl') {
    throw new UsageError(`--format: ${format} is not JSON; give jsonl, or leave out --json`);
  }
  return format ?? (isJson ? 'jsonl' : 'text');
}

export const rulesOption = option(
  '--rules <file>',
  'JSON file with an array of rules that answer before the model (docs/rules.md in the repository)',
);

/** The rules of a file; the library checks them. @throws StorageError if it can't be read, UsageError if it is not JSON */
export async function rulesOf(file: string | undefined): Promise<LoadModelOptions['rules']> {
  if (file === undefined) return undefined;
  const json = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw new StorageError(`--rules ${file}: ${cause}`, { cause });
  });
  try {
    return JSON.parse(json);
  } catch {
    throw new UsageError(`--rules ${file}: give a JSON array, such as [{"type": "ORDER", "pattern": "A-[0-9]{5}"}]`);
  }
}

export async function openModel(
  settings: Settings<typeof modelParameters> &
    Partial<Settings<typeof checkpointOptions>> & { rules?: string | undefined },
  signal?: AbortSignal,
): Promise<Model> {
  const { loadModel } = await import('../api/index.js');
  const { model, device, runtime, threads, aggregation, weights } = settings;
  const rules = await rulesOf(settings.rules);
  return orThrow(
    loadModel(model, {
      signal,
      ...(device && { device }),
      ...(runtime && { runtime }),
      ...(threads && { threads }),
      ...(aggregation && { aggregation }),
      ...(weights && { weights }),
      ...(rules !== undefined && { rules }),
    }),
  );
}

export const inputFormats = ['text', 'jsonl', 'csv', 'tsv'] as const;
export type InputFormat = (typeof inputFormats)[number];

export const textOptions = {
  input: option('-i, --input <file>', 'file of texts; - is standard input'),
  inputFormat: choice(
    '--input-format <format>',
    'one text per line (text), or one field of each record (default: by the file extension; text for standard input)',
    inputFormats,
  ),
  textColumn: option('--text-column <name>', 'column or field with the text (default: text)'),
};

export async function openTexts(settings: TextSettings, shown: TextOutput): Promise<GivenTexts> {
  const { GivenTexts, openTextSource } = await import('./text-input.js');
  return new GivenTexts(await openTextSource(settings, shown.terminal, shown.signal), shown);
}

const SET_ASIDE = 'share of the rows to set aside for evaluation';
export const devFractionOption = option('--dev-fraction <share>', `${SET_ASIDE} (default: 0.1)`, share);

export const columnOptions = {
  textColumn: option(
    '--text-column <name>',
    'column with the text: classification, entities (default: text, sentence, content, review or utterance)',
  ),
  labelColumn: option(
    '--label-column <name>',
    'column with the label: classification (default: label, category, class, intent or sentiment; for several labels: labels, tags, categories or topics)',
  ),
  questionColumn: option('--question-column <name>', 'column with the question (default: question or query)'),
  passageColumn: option(
    '--passage-column <name>',
    'column with the passage that answers it (default: passage, context or answer)',
  ),
};

/** How files of rows are read, where what is recognized is wrong. */
export const readingOptions = {
  ...columnOptions,
  text2Column: option('--text2-column <name>', 'column with the second text: classification of pairs (default: text2)'),
  weightColumn: option(
    '--weight-column <name>',
    'column with the weight of each row: classification (default: weight)',
  ),
  format: choice(
    '--format <format>',
    'format of the rows (default: detected from the content and the file extension)',
    ROW_FORMATS,
  ),
  encoding: choice('--encoding <encoding>', 'encoding of the rows (default: utf-8; utf-16 is detected)', ENCODINGS),
  delimiter: option(
    '--delimiter <character>',
    'separator of the cells (default: comma, semicolon, tab or |, as detected)',
  ),
  offsets: choice('--offsets <unit>', 'unit of the entity offsets (default: the one that fits the words)', OFFSETS),
  tagNames: option(
    '--tag-names <names>',
    'for a file whose tags are numbers: the names of the tags 0, 1, 2 and so on, separated by commas',
    names,
  ),
  skipInvalid: flag('--skip-invalid', 'skip rows with a problem'),
};

/** Only what the user gives, since archives take none of it. */
export function readingOf(settings: Settings<typeof readingOptions>): ReadingOptions {
  const { textColumn: text, labelColumn: label, questionColumn: question, passageColumn: passage } = settings;
  const { text2Column: text2, weightColumn: weight } = settings;
  const { format, encoding, delimiter, offsets, tagNames, skipInvalid } = settings;
  const columns = { text, text2, label, weight, question, passage };
  return {
    ...(Object.values(columns).some((name) => name !== undefined) && { columns }),
    ...(format && { format }),
    ...(encoding && { encoding }),
    ...(delimiter && { delimiter }),
    ...(offsets && { offsets }),
    ...(tagNames && { tagNames }),
    ...(skipInvalid && { skipInvalid }),
  };
}

function names(typed: string): string[] {
  return text(typed)
    .split(',')
    .map((name) => name.trim());
}

export const trainingParameters = {
  data: argument('<data>', 'training data: a file of rows, a dataset archive, or the URL of an archive'),
  type: choice('-t, --type <type>', 'task of the model (default: inferred from the rows)', modelTypes),
  base: option(
    '-b, --base <model>',
    'model to start from: folder or name of a model or backbone, or owner/name on the Hub (default: the backbone for --language)',
  ),
  name: option(
    '--name <name>',
    'model name: 1 to 24 characters of a–z, 0–9 and - (default: from the file name)',
    matching(MODEL_NAME, '1 to 24 characters of a–z, 0–9 and -', MAX_MODEL_NAME_LENGTH),
  ),
  size: choice('--size <size>', 'size of the encoder if --base is not given (default: mini)', modelSizes),
  language: option('--language <language>', 'language of the texts, such as en or ja (default: en)'),
  ...readingOptions,
  positive: positiveOption,
  devFraction: {
    ...devFractionOption,
    description: `${SET_ASIDE} (default: 0.1; none for a classifier or entity model with up to 1,000 rows)`,
  },
  epochs: option(
    '--epochs <number>',
    'maximum number of epochs (default: depends on the task and the number of rows)',
    integer(1),
  ),
  batchSize: option(
    '--batch-size <number>',
    'rows per training step (default: 32, or 16 for fewer than 2,000 rows)',
    integer(1),
  ),
  learningRate: option(
    '--learning-rate <number>',
    'peak learning rate, such as 3e-4 (default: depends on the size or backbone)',
    decimal,
  ),
  seed: seedOption,
  device: deviceOption,
  threads: trainingThreadsOption,
};

export function trainingOptions(settings: Omit<Settings<typeof trainingParameters>, 'data'>) {
  const { type, base, name, size, language, positive, devFraction, epochs, batchSize, learningRate } = settings;
  const { seed, device, threads } = settings;
  const options = {
    type,
    base,
    name,
    size,
    language,
    positive,
    devFraction,
    epochs,
    batchSize,
    learningRate,
    seed,
    device,
    threads,
  };
  return { ...options, ...readingOf(settings) } satisfies TrainOptions;
}

/** Shows the progress of a training run. @param label what to print before it, such as `trial 2, ` */
export function showTraining(progress: Progress, event: TrainingEvent, label = ''): void {
  if (event.type !== 'progress') return;
  const { phase, fraction, epoch, epochs, remainingMs } = event;
  const left = remainingMs === undefined ? '' : `, ${Math.ceil(remainingMs / 1000)} s left`;
  const stage = phase === 'train' && epochs > 1 ? `epoch ${epoch + 1} of ${epochs}` : phase;
  progress.show(fraction, `${label}${stage}${left}`);
}

export const databaseOption = option(
  '--database <url>',
  'PostgreSQL database with the data, postgres://…; or set ORCHARD_DATABASE',
  matching(/^postgres(ql)?:\/\/./, 'a URL such as postgres://user@host/name'),
);
export const schemaOption = option(
  '--schema <name>',
  'schema in the database (default: orchard)',
  matching(/^[a-z_][a-z0-9_]{0,39}$/, 'at most 40 characters of a–z, 0–9 and _, not starting with a digit'),
);

export const serviceDataOptions = {
  data: option('--data <folder>', 'data folder of orchard serve (default: ./orchard-data)'),
  database: databaseOption,
  schema: schemaOption,
};
export const appId = matching(APP_ID, '1 to 50 printable ASCII characters');
export const yesOption = flag('--yes', 'do not ask for confirmation');
export const DEFAULT_DATA = './orchard-data';

/** A folder on the command line wins over a database in the environment. */
export function dataPlaceOf(
  { data, database, schema }: Settings<typeof serviceDataOptions>,
  { ORCHARD_DATABASE }: NodeJS.ProcessEnv,
): DataPlace {
  const inherited = data === undefined ? ORCHARD_DATABASE || undefined : undefined;
  return { data: data ?? DEFAULT_DATA, database: database ?? databaseOption.parse(inherited), schema };
}
