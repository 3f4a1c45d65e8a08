import { TrainingError } from '../contract/index.js';
import { type Encoder, newEncoder, type ParameterSpec } from '../encoder/index.js';
import { isFrozen } from '../engine/index.js';
import type { TrainingTask } from '../families/index.js';
import { volume } from '../graph/index.js';
import { type FrozenBackbone, trainedHead } from './frozen-backbone.js';
import { type Hyperparameters, MAX_VOCABULARY } from './hyperparameters.js';
import type { TrainingSpec } from './training-run.js';

const FLOAT = 4;
/** Node.js with the runtime loaded. */
const RUNTIME_BYTES = 256 * 1024 ** 2;
/**
 * Copies of every weight at the worst moment, a checkpoint within the last epochs: weights, gradients and their sum,
 * two moments, the best epoch, and the four of these that the file has.
 */
const COPIES_OF_WEIGHTS = 10;
/** Copies of a frozen weight, when the graph is written in the end: as read from its file, and in the graph's bytes. */
const COPIES_OF_FROZEN_WEIGHTS = 2;
/** Numbers that one layer keeps of each token for the backward pass, by the widths that they grow with. */
const HIDDEN_WIDTHS_A_TOKEN = 16;
const INNER_WIDTHS_A_TOKEN = 4;
/** Tokens and attention weights of one run, as the engine bounds them, and how often each is kept. */
const TOKENS_A_RUN = 4096;
const ATTENTION_A_RUN = 2 ** 25;
const COPIES_OF_ATTENTION = 4;
/** Copies of a head's outputs in a step (logits, shares, targets and their gradients), and of those on dev. */
const COPIES_OF_LOGITS = 6;
const COPIES_OF_DEV_OUTPUTS = 10;
/** A text in memory without its characters, and each of its tokens: five integers, in arrays of their own. */
const BYTES_A_TEXT = 800;
const BYTES_A_TOKEN = 20;
/** English has about four characters for each token; other languages and strange texts have fewer. */
const CHARACTERS_A_TOKEN = 2;
/** Bytes in memory for each byte of an archive's files while they are read. */
const COPIES_OF_ARCHIVE = 4;

interface MemoryEstimate {
  /** Weights with all that is kept for each. */
  readonly weights: number;
  readonly step: number;
  readonly texts: number;
  /** Answers to the dev texts, and the lexical expert while it is trained. */
  readonly labels: number;
}

/**
 * @param encoder undefined for a new one, whose vocabulary isn't known yet.
 * @param frozen what doesn't learn. Default: everything learns.
 */
export function estimateMemory(
  task: Pick<TrainingTask, 'train' | 'dev' | 'head' | 'expertBytes'>,
  { model_config }: Pick<TrainingSpec, 'model_config'>,
  { batchSize, maxTokens, augment }: Pick<Hyperparameters, 'batchSize' | 'maxTokens' | 'augment'>,
  encoder: Encoder = newEncoder(model_config.size, MAX_VOCABULARY),
  frozen?: FrozenBackbone,
): MemoryEstimate {
  const { head } = task;
  const outputs = head.outputs(encoder);
  const train = measure(task.train, maxTokens);
  const dev = measure(task.dev, maxTokens);
  const parameters = trainedHead(head, frozen).parameters(encoder);
  const isKept = ({ name }: ParameterSpec) => frozen !== undefined && isFrozen(frozen.frozen, name);
  const trained = numbersOf(parameters.filter((each) => !isKept(each)));
  const kept = numbersOf(parameters.filter(isKept));
  const tokens = Math.min(frozen?.tokensPerRun ?? TOKENS_A_RUN, batchSize * Math.min(maxTokens, train.longest));
  const perToken = encoder.layers * (HIDDEN_WIDTHS_A_TOKEN * encoder.width + INNER_WIDTHS_A_TOKEN * encoder.innerWidth);
  const attention = tokens * train.longest * encoder.heads * encoder.layers;
  const answersOf = (texts: TextMeasure) => (head.per === 'token' ? texts.tokens : texts.count);
  const logits = outputs * (head.per === 'token' ? tokens : batchSize);
  const copies = augment ? 2 : 1;
  return {
    weights: FLOAT * (COPIES_OF_WEIGHTS * trained + COPIES_OF_FROZEN_WEIGHTS * kept),
    step:
      FLOAT *
      (tokens * perToken + COPIES_OF_ATTENTION * Math.min(ATTENTION_A_RUN, attention) + COPIES_OF_LOGITS * logits),
    texts: copies * train.bytes + dev.bytes,
    labels: FLOAT * COPIES_OF_DEV_OUTPUTS * outputs * answersOf(dev) + copies * (task.expertBytes?.() ?? 0),
  };
}

const numbersOf = (parameters: readonly ParameterSpec[]): number =>
  parameters.reduce((sum, { shape }) => sum + volume(shape), 0);

/** @param limit in bytes; undefined for none. @throws TrainingError that names both and says what takes the most. */
export function requireMemory(id: string, estimate: MemoryEstimate, limit: number | undefined): void {
  const { weights, step, texts, labels } = estimate;
  const needed = RUNTIME_BYTES + weights + step + texts + labels;
  if (limit === undefined || needed <= limit) return;
  const parts: readonly (readonly [bytes: number, what: string, advice: string])[] = [
    [weights, 'the weights', 'train a smaller `size`'],
    [step, 'a training step', 'use a smaller `batchSize`, or a smaller `size`'],
    [texts, 'the texts', 'use fewer or shorter texts'],
    [labels, 'the labels', 'use fewer labels, or fewer rows'],
  ];
  const [bytes, what, advice] = parts.reduce((most, part) => (part[0] > most[0] ? part : most));
  throw tooLarge(id, needed, limit, `${gigabytes(bytes)} of it for ${what}; ${advice}`);
}

/** Whether there is memory to read an archive at all. @param archiveBytes of all its files. @throws TrainingError */
export function requireMemoryToRead(id: string, archiveBytes: number, limit: number | undefined): void {
  const needed = RUNTIME_BYTES + COPIES_OF_ARCHIVE * archiveBytes;
  if (limit === undefined || needed <= limit) return;
  throw tooLarge(id, needed, limit, 'reading the dataset takes that much; use a smaller dataset');
}

function tooLarge(id: string, needed: number, limit: number, rest: string): TrainingError {
  return new TrainingError(
    `training job ${id} needs about ${gigabytes(needed, Math.ceil)} of memory, but the limit is ${gigabytes(limit, Math.floor)} (\`memoryLimit\`): ${rest}, or allow more memory`,
  );
}

const GIB = 1024 ** 3;

/** @param round the needed up and the allowed down, so that the two never read the same */
const gigabytes = (bytes: number, round = Math.round): string => `${(round((100 * bytes) / GIB) / 100).toFixed(2)} GiB`;

interface TextMeasure {
  readonly count: number;
  /** Estimates, as many as are read; the longest text's too. */
  readonly tokens: number;
  readonly longest: number;
  readonly bytes: number;
}

function measure(texts: readonly string[], maxTokens: number): TextMeasure {
  let tokens = 0;
  let longest = 0;
  let characters = 0;
  for (const { length } of texts) {
    const own = Math.min(maxTokens, 2 + Math.ceil(length / CHARACTERS_A_TOKEN));
    tokens += own;
    longest = Math.max(longest, own);
    characters += length;
  }
  return {
    count: texts.length,
    tokens,
    longest,
    bytes: 2 * characters + BYTES_A_TOKEN * tokens + BYTES_A_TEXT * texts.length,
  };
}
