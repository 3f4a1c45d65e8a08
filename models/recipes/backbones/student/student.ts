import { type Encoder, initialize, readEncoder } from '../../../../src/encoder/index.js';
import { GradientEngine, Learner, type ParameterStore, saveCheckpoint } from '../../../../src/engine/index.js';
import type { GraphExecutor } from '../../../../src/graph/index.js';
import { Random } from '../../../../src/system/index.js';
import { WORD_EMBEDDINGS } from '../embeddings/make-embeddings.js';
import { learningSettings } from '../settings.js';
import { grow, type SmallEncoder } from './grow-student.js';
import { ENCODER_PREFIX, type Objective } from './objective.js';
import { ObjectiveGradients } from './objective-gradients.js';
import { type CurvePoint, restoreStudent, type StudentState } from './student-checkpoint.js';

export interface StudentOptions {
  readonly executor: GraphExecutor;
  /** Dropout is off during training, whatever the probabilities say. */
  readonly encoder: Encoder;
  readonly objective: Objective;
  /** [vocabulary, hidden]. Default: word embeddings start like all other weights. */
  readonly wordEmbeddings?: Float32Array;
  /** An encoder to grow from, instead of a random start. */
  readonly small?: SmallEncoder;
  /** Texts of a batch. */
  readonly batchSize: number;
  readonly seed: number;
}

/** An encoder in training, step by step; it can be stopped and resumed between any two steps. */
export class Student {
  readonly #options: StudentOptions;
  readonly #engine: GradientEngine;
  readonly #gradients: ObjectiveGradients;
  readonly #learner: Learner;
  #curve: StudentState['curve'] = [];

  private constructor(options: StudentOptions, engine: GradientEngine) {
    const { objective, encoder, batchSize, seed } = options;
    const { maxGradientNorm } = learningSettings;
    const gradients = new ObjectiveGradients(engine, objective, encoder);
    this.#options = options;
    this.#engine = engine;
    this.#gradients = gradients;
    this.#learner = new Learner(engine, gradients, { batchSize, seed, maxGradientNorm });
  }

  /** @throws RangeError if a batch is too large for one run. */
  static async create(options: StudentOptions): Promise<Student> {
    const { executor, encoder, objective, batchSize, seed } = options;
    const { head, parameters: trainable, longest } = objective;
    const still = { ...encoder.config, hidden_dropout_prob: 0, attention_probs_dropout_prob: 0 };
    const engine = await GradientEngine.create({
      executor,
      head,
      encoder: readEncoder(still, 'config.json'),
      trainable,
      adamW: learningSettings.optimizer,
      batchSize,
      longest,
      tokensPerRun: batchSize * longest,
      seed,
    });
    if (engine.accumulates) {
      await engine.release();
      throw new RangeError(`${batchSize} texts of ${longest} tokens are too many for one run`);
    }
    fillParameters(engine.store, options);
    return new Student(options, engine);
  }

  get state(): StudentState {
    const { steps, epoch, batch } = this.#learner.state;
    const { tokens, lengths } = this.#gradients;
    const curve = this.#curve;
    const seconds = curve.at(-1)?.seconds ?? 0;
    return { steps, seed: this.#options.seed, epoch, batch, texts: lengths.length, tokens, seconds, curve };
  }

  /**
   * Trains on the next batch, in one optimizer step.
   * @returns the batch's loss.
   * @throws TrainingError if training diverged.
   */
  async step(learningRate: number): Promise<number> {
    return (await this.#learner.step(learningRate)).loss;
  }

  /** The objective's measures on the validation examples, averaged over their texts. */
  async validate(): Promise<Readonly<Record<string, number>>> {
    const { objective } = this.#options;
    const measured: Record<string, number> = {};
    for (const measure of objective.measures) {
      let sum = 0;
      let texts = 0;
      for (const batch of objective.validation(measure)) {
        sum += batch.encodings.length * (await this.#gradients.loss(batch));
        texts += batch.encodings.length;
      }
      measured[measure] = sum / texts;
    }
    return measured;
  }

  addPoint(point: CurvePoint): void {
    this.#curve = [...this.#curve, point];
  }

  async save(file: string): Promise<void> {
    await saveCheckpoint(file, this.#engine.store, { state: this.state });
  }

  /** Resumes from a checkpoint, if there is one; if there are other texts by now, with a new epoch. */
  async restore(file: string): Promise<void> {
    const saved = await restoreStudent(file, this.#engine.store);
    if (saved === undefined) return;
    const { steps, epoch, batch, texts, tokens, curve } = saved;
    const place = texts === this.#gradients.lengths.length ? { epoch, batch } : { epoch: epoch + 1, batch: 0 };
    this.#learner.state = { ...this.#learner.state, steps, ...place };
    this.#gradients.tokens = tokens;
    this.#curve = curve;
  }

  release(): Promise<void> {
    return this.#engine.release();
  }
}

/** Draws random weights first, one parameter after the other, then copies those to start from. */
function fillParameters(
  store: ParameterStore,
  { objective, encoder, wordEmbeddings, small, seed }: StudentOptions,
): void {
  const random = Random.fromSeed(seed, 0);
  for (const spec of objective.parameters) {
    initialize(spec, store.get(spec.name).weights, () => random.normal());
  }
  if (wordEmbeddings) store.get(WORD_EMBEDDINGS).weights.set(wordEmbeddings);
  if (small) {
    const names = encoder.parameters(ENCODER_PREFIX).map(({ name }) => name);
    grow(small, encoder, new Map(names.map((name) => [name, store.get(name).weights])));
  }
}
