import { join } from 'node:path';
import { type Encoder, readEncoder } from '../../src/encoder/index.js';
import type { TrainingHead } from '../../src/engine/index.js';
import type { TrainingTask } from '../../src/families/index.js';
import { onnxExecutor } from '../../src/graph/index.js';
import { encodingWindows, loadTokenizer, trainWordPiece } from '../../src/text/index.js';
import type { Hyperparameters } from '../../src/training/hyperparameters.js';
import { ProgressReporter } from '../../src/training/progress-reporter.js';
import type { LoopInput } from '../../src/training/training-loop.js';

/** Small trainings of any family: a tiny encoder over a vocabulary of the texts' own. */

export const words = ['red', 'green', 'blue', 'one', 'two', 'three', 'dog', 'cat', 'sun', 'sea'];

/** The most tokens that the encoder reads; longer texts come as windows. */
const POSITIONS = 16;
const OVERLAP = 4;

const plain: Hyperparameters = {
  batchSize: 8,
  learningRate: 3e-3,
  epochs: 2,
  maxTokens: POSITIONS,
  language: 'english',
  lowercase: true,
  augment: false,
  pretrained: false,
  tokenDropout: 0,
  labelSmoothing: 0,
  balanced: false,
};

export function tinyEncoder(vocabulary: number, dropout: number): Encoder {
  const json = {
    model_type: 'bert',
    vocab_size: vocabulary,
    hidden_size: 32,
    num_hidden_layers: 2,
    num_attention_heads: 2,
    intermediate_size: 64,
    max_position_embeddings: POSITIONS,
    hidden_dropout_prob: dropout,
    attention_probs_dropout_prob: dropout,
  };
  return readEncoder(json, 'config.json');
}

export interface LoopChanges extends Partial<Omit<LoopInput, 'task'>> {
  /** Of the encoder. Default 0. */
  readonly dropout?: number;
}

/** @param folder for the checkpoint. */
export function loopInput<Head extends TrainingHead>(
  task: TrainingTask<Head>,
  folder: string,
  hyperparameters: Partial<Hyperparameters> = {},
  { dropout = 0, ...changes }: LoopChanges = {},
): LoopInput & { readonly task: TrainingTask<Head> } {
  const tokenizer = loadTokenizer(trainWordPiece(task.train, { vocabularySize: 200, lowercase: true }));
  const windowsOf = (texts: readonly string[]) =>
    texts.flatMap((text, row) =>
      encodingWindows(tokenizer.encode(text), POSITIONS, OVERLAP).map((encoding) => ({ row, encoding })),
    );
  return {
    task,
    train: windowsOf(task.train),
    dev: windowsOf(task.dev),
    encoder: tinyEncoder(tokenizer.vocabularySize, dropout),
    maskId: tokenizer.specialTokens.mask,
    hyperparameters: { ...plain, ...hyperparameters },
    executor: onnxExecutor(),
    seed: 3,
    signal: new AbortController().signal,
    progress: new ProgressReporter(() => {}),
    checkpoint: { file: join(folder, 'checkpoint.safetensors'), fingerprint: 'test', intervalMs: 1e9 },
    ...changes,
  };
}
