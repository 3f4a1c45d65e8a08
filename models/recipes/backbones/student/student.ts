import { type BertConfig, bertParameters, initialize } from '../../../../src/encoder/index.js';
import { AdamWOptimizer } from '../../../../src/engine/adamw-optimizer.js';
import { GradientEngine } from '../../../../src/engine/gradient-engine.js';
import { lengthBatches } from '../../../../src/engine/length-batches.js';
import { padBatch } from '../../../../src/engine/padded-batch.js';
import type { GraphExecutor } from '../../../../src/graph/index.js';
import { Random } from '../../../../src/random.js';
import { WORD_EMBEDDINGS } from '../embeddings/make-embeddings.js';
import { learningSettings } from '../settings.js';
import { grow, type SmallEncoder } from './grow-student.js';
import { ENCODER_PREFIX, type LearningBatch, type Objective } from './objective.js';
import { restoreStudent, type StudentState, saveStudent } from './student-checkpoint.js';

export interface StudentOptions {
  readonly executor: GraphExecutor;
  readonly threads: number;
  /** Nothing is dropped while it learns, whatever the probabilities say. */
  readonly config: BertConfig;
  readonly objective: Objective;
  /** [vocabulary, hidden]; without them word embeddings start like all other weights. */
  readonly wordEmbeddings?: Float32Array;
  /** An encoder to grow from, in place of a random start. */
  readonly small?: SmallEncoder;
  /** Texts that are read at once: all texts of an example are in one batch. */
  readonly batchSize: number;
  readonly seed: number;
}

/** An encoder that learns step by step, and can be stopped and taken up between any two. */
export class Student {
  state: StudentState;
  readonly #optimizer: AdamWOptimizer;
  #batches: readonly (readonly number[])[] = [];

  private constructor(
    private readonly options: StudentOptions,
    private readonly engine: GradientEngine,
  ) {
    this.#optimizer = new AdamWOptimizer(engine.store, engine.kernels, learningSettings.optimizer);
    const { seed, objective } = options;
    const start = { steps: 0, epoch: 0, batch: 0, tokens: 0, seconds: 0, curve: [] };
    this.state = { ...start, seed, texts: objective.lengths.length };
    this.#shuffle();
  }

  /** @throws RangeError where a batch is too large to be run at once. */
  static async create(options: StudentOptions): Promise<Student> {
    const { objective, seed, wordEmbeddings, small } = options;
    const { head, parameters, longest } = objective;
    const encoder = { ...options.config, hidden_dropout_prob: 0, attention_probs_dropout_prob: 0 };
    const engine = await GradientEngine.create({ ...options, head, encoder, parameters, longest });
    if (engine.accumulates) {
      await engine.release();
      throw new RangeError(`${options.batchSize} texts of ${longest} tokens are too many for one run`);
    }
    const random = Random.fromSeed(seed, 0);
    for (const spec of parameters) {
      initialize(spec, engine.store.get(spec.name).weights, () => random.normal());
    }
    if (wordEmbeddings) engine.store.get(WORD_EMBEDDINGS).weights.set(wordEmbeddings);
    if (small) {
      const names = bertParameters(options.config, ENCODER_PREFIX).map(({ name }) => name);
      grow(small, options.config, new Map(names.map((name) => [name, engine.store.get(name).weights])));
    }
    return new Student(options, engine);
  }

  /** Reads the next batch and takes one optimizer step. @returns the batch's loss. @throws where training diverged. */
  async step(learningRate: number): Promise<number> {
    const { steps, batch } = this.state;
    const read = this.options.objective.batch(this.#batches[batch] ?? [], steps);
    const loss = await this.#gradients(read);
    const { maxGradientNorm } = learningSettings;
    this.#optimizer.step(learningRate, { maxGradientNorm });
    const tokens = this.state.tokens + read.encodings.reduce((sum, { ids }) => sum + ids.length, 0);
    this.state = { ...this.state, steps: steps + 1, batch: batch + 1, tokens };
    if (this.state.batch === this.#batches.length) this.#nextEpoch();
    return loss;
  }

  /** The objective's measures on the validation examples: the mean over their texts. */
  async validate(): Promise<Readonly<Record<string, number>>> {
    const { objective } = this.options;
    const measured: Record<string, number> = {};
    for (const measure of objective.measures) {
      let sum = 0;
      let texts = 0;
      for (const batch of objective.validation(measure)) {
        sum += batch.encodings.length * (await this.#gradients(batch));
        texts += batch.encodings.length;
      }
      measured[measure] = sum / texts;
    }
    return measured;
  }

  save(file: string): void {
    saveStudent(file, this.state, this.engine.store);
  }

  /** Goes on from a checkpoint, if there is one; where there are other texts by now, with a new epoch. */
  restore(file: string): void {
    const saved = restoreStudent(file, this.engine.store, this.#optimizer);
    if (saved === undefined) return;
    const texts = this.options.objective.lengths.length;
    this.state = saved.texts === texts ? saved : { ...saved, texts, epoch: saved.epoch + 1, batch: 0 };
    this.#shuffle();
  }

  release(): Promise<void> {
    return this.engine.release();
  }

  #gradients({ encodings, feeds }: LearningBatch): Promise<number> {
    const padded = padBatch(encodings, this.options.config.pad_token_id);
    return this.engine.run(padded, { feeds, weight: encodings.length });
  }

  #nextEpoch(): void {
    this.state = { ...this.state, epoch: this.state.epoch + 1, batch: 0 };
    this.#shuffle();
  }

  #shuffle(): void {
    const { batchSize, seed, objective } = this.options;
    const examples = Math.max(1, Math.floor(batchSize / objective.textsPerExample));
    const { epoch } = this.state;
    this.#batches = lengthBatches(objective.lengths, { batchSize: examples, seed, epoch });
  }
}
