import { type BertConfig, initialize } from '../../../../src/encoder/index.js';
import type { TextWindow, TrainingHead } from '../../../../src/families/index.js';
import type { GraphExecutor } from '../../../../src/graph/index.js';
import { Random } from '../../../../src/random.js';
import type { Encoding, Tokenizer } from '../../../../src/tokenizer/index.js';
import { AdamWOptimizer } from '../../../../src/training/adamw-optimizer.js';
import { GradientEngine } from '../../../../src/training/gradient-engine.js';
import { lengthBatches } from '../../../../src/training/length-batches.js';
import { padBatch } from '../../../../src/training/padded-batch.js';
import { dropTokens } from '../../../../src/training/token-dropout.js';
import { WORD_EMBEDDINGS } from '../embeddings/make-embeddings.js';
import { distillationSettings } from '../settings.js';
import type { TextTargets } from '../teacher/target-shard.js';
import { distillationHead, type LossShares } from './distillation-head.js';
import { restoreStudent, type StudentState, saveStudent } from './student-checkpoint.js';

export interface StudentOptions {
  readonly executor: GraphExecutor;
  readonly threads: number;
  readonly config: BertConfig;
  readonly tokenizer: Pick<Tokenizer, 'specialTokens'>;
  /** What the teacher says of the texts to learn from, and of those to be judged by. */
  readonly train: readonly TextTargets[];
  readonly validation: readonly TextTargets[];
  readonly teacherWidth: number;
  /** [vocabulary, hidden]; without them word embeddings start like all other weights. */
  readonly wordEmbeddings?: Float32Array;
  readonly batchSize: number;
  readonly seed: number;
}

const ALL_TOKENS = { labelSmoothing: 0, balanced: false };

/** An encoder that learns to say what its teacher says, step by step, and can be stopped and taken up between any two. */
export class Student {
  state: StudentState;
  readonly #windows: readonly TextWindow[];
  readonly #head: TrainingHead;
  readonly #optimizer: AdamWOptimizer;
  #batches: readonly (readonly number[])[] = [];

  private constructor(
    private readonly options: StudentOptions,
    private readonly engine: GradientEngine,
  ) {
    const { train, teacherWidth, seed } = options;
    this.#windows = windowsOf(train);
    this.#head = distillationHead(train, teacherWidth, { sentence: distillationSettings.sentenceShare });
    this.#optimizer = new AdamWOptimizer(engine.store, engine.kernels, distillationSettings.optimizer);
    const start = { steps: 0, epoch: 0, batch: 0, tokens: 0, seconds: 0, curve: [] };
    this.state = { ...start, seed, texts: train.length };
    this.#shuffle();
  }

  static async create(options: StudentOptions): Promise<Student> {
    const { executor, threads, batchSize, seed, train, validation, teacherWidth, wordEmbeddings } = options;
    const encoder = { ...options.config, hidden_dropout_prob: 0, attention_probs_dropout_prob: 0 };
    const head = distillationHead(train, teacherWidth, { sentence: 0 });
    const parameters = head.parameters(encoder);
    const longest = [...train, ...validation].reduce((most, { ids }) => Math.max(most, ids.length), 0);
    const engine = await GradientEngine.create({
      executor,
      threads,
      head,
      encoder,
      parameters,
      batchSize,
      longest,
      seed,
    });
    const random = Random.fromSeed(seed, 0);
    for (const spec of parameters) {
      initialize(spec, engine.store.get(spec.name).weights, () => random.normal());
    }
    if (wordEmbeddings) engine.store.get(WORD_EMBEDDINGS).weights.set(wordEmbeddings);
    return new Student(options, engine);
  }

  /** Reads the next batch and takes one optimizer step. @returns the batch's loss. @throws where training diverged. */
  async step(learningRate: number): Promise<number> {
    const { seed, tokenizer } = this.options;
    const { steps, batch } = this.state;
    const windows = (this.#batches[batch] ?? []).flatMap((row) => this.#windows[row] ?? []);
    const encodings = windows.map(({ encoding }) => encoding);
    const { maskedShare, maxGradientNorm } = distillationSettings;
    const masked = dropTokens(encodings, maskedShare, tokenizer.specialTokens.mask, seed, steps);
    const targets = this.#head.targets(windows, ALL_TOKENS);
    const loss = await this.#gradients(masked, targets);
    if (this.engine.accumulates) this.engine.store.accumulateGradients(targets.weight);
    this.#optimizer.step(learningRate, { maxGradientNorm })._unsafeUnwrap();
    const tokens = encodings.reduce((sum, { ids }) => sum + ids.length, 0);
    this.state = { ...this.state, steps: steps + 1, batch: batch + 1, tokens: this.state.tokens + tokens };
    if (this.state.batch === this.#batches.length) this.#nextEpoch();
    return loss;
  }

  /** Mean 1 − cosine on the validation texts, nothing masked. */
  async validate(): Promise<{ readonly sentence: number; readonly spans: number }> {
    return {
      sentence: await this.#validationLoss({ sentence: 1 }),
      spans: await this.#validationLoss({ sentence: 0 }),
    };
  }

  save(file: string): void {
    saveStudent(file, this.state, this.engine.store);
  }

  /** Goes on from a checkpoint, if there is one; where there are other texts by now, with a new epoch. */
  restore(file: string): void {
    const saved = restoreStudent(file, this.engine.store, this.#optimizer);
    if (saved === undefined) return;
    const texts = this.options.train.length;
    this.state = saved.texts === texts ? saved : { ...saved, texts, epoch: saved.epoch + 1, batch: 0 };
    this.#shuffle();
  }

  release(): Promise<void> {
    return this.engine.release();
  }

  async #validationLoss(shares: LossShares): Promise<number> {
    const { validation, teacherWidth, batchSize } = this.options;
    const head = distillationHead(validation, teacherWidth, shares);
    const windows = windowsOf(validation);
    let sum = 0;
    for (let start = 0; start < windows.length; start += batchSize) {
      const batch = windows.slice(start, start + batchSize);
      const encodings = batch.map(({ encoding }) => encoding);
      sum += batch.length * (await this.#gradients(encodings, head.targets(batch, ALL_TOKENS)));
    }
    return sum / windows.length;
  }

  #gradients(encodings: readonly Encoding[], targets: ReturnType<TrainingHead['targets']>): Promise<number> {
    return this.engine.run(padBatch(encodings, this.options.config.pad_token_id), targets);
  }

  #nextEpoch(): void {
    this.state = { ...this.state, epoch: this.state.epoch + 1, batch: 0 };
    this.#shuffle();
  }

  #shuffle(): void {
    const { batchSize, seed, train } = this.options;
    const lengths = train.map(({ ids }) => ids.length);
    this.#batches = lengthBatches(lengths, { batchSize, seed, epoch: this.state.epoch });
  }
}

function windowsOf(texts: readonly TextTargets[]): TextWindow[] {
  return texts.map(({ ids }, row) => ({ row, encoding: encodingOf(ids) }));
}

/** The encoding that these ids came from; [CLS] and [SEP] are marked as added. */
function encodingOf(ids: Int32Array): Encoding {
  const sequenceIds = new Int32Array(ids.length);
  sequenceIds[0] = -1;
  sequenceIds[ids.length - 1] = -1;
  return { ids, typeIds: new Int32Array(ids.length), sequenceIds, offsets: null, truncated: 0 };
}
