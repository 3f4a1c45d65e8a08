import { initialize, type JsonObject, readEncoder } from '../../src/encoder/index.js';
import type { RowHead } from '../../src/engine/index.js';
import { classificationTask } from '../../src/families/classification/training.js';
import { sequenceTask } from '../../src/families/entities/training.js';
import { families, type TrainingTask } from '../../src/families/index.js';
import { type NamedTensor, writeModelFolder } from '../../src/models/index.js';
import { Random } from '../../src/system/numbers.js';
import { type BertTokenizerJson, loadTokenizer, tokenizerConfig, trainWordPiece } from '../../src/text/index.js';
import { configForOthers, exportOnnx, modelFolderConfig } from '../../src/training/export-model.js';
import { MAX_TOKENS } from '../../src/training/hyperparameters.js';

/** Model folders with random weights, of any encoder, through the code that exports trained ones. */

/** Most tokens that such a model reads at once. */
export const MAX_BUILT_TOKENS = MAX_TOKENS;

/** A classifier over first tokens or over means, or a tagger of tokens. */
export type BuiltHead = 'first' | 'mean' | 'tokens';

export interface BuiltModel {
  /** Fields of the encoder's config.json; the vocabulary's size is added. */
  readonly encoder: JsonObject;
  readonly head: BuiltHead;
  /** Texts of the vocabulary. */
  readonly texts: readonly string[];
}

const labels = ['bad', 'good', 'unsure'] as const;

function taskOf(head: BuiltHead): TrainingTask<RowHead> {
  if (head === 'tokens') {
    const rows = [{ words: ['Zoë'], tags: [1] }];
    return sequenceTask({ tags: ['O', 'B-PER', 'I-PER'], train: rows, dev: rows, warnings: [] });
  }
  const rows = labels.map((text, label) => ({ text, labelIds: [label] }));
  return classificationTask({ kind: 'multiclass', labels, train: rows, dev: rows, warnings: [] }, head);
}

/** The tokenizer with the padding token at an id: it trades places with what has the id. */
function withPaddingAt(tokenizer: BertTokenizerJson, id: number): BertTokenizerJson {
  const { vocab } = tokenizer.model;
  const padding = vocab['[PAD]'] ?? 0;
  const placed = (each: number): number => ({ [padding]: id, [id]: padding })[each] ?? each;
  const entries = Object.entries(vocab).map(([piece, each]) => [piece, placed(each)] as const);
  return {
    ...tokenizer,
    added_tokens: tokenizer.added_tokens.map((token) => ({ ...token, id: placed(token.id) })),
    model: { ...tokenizer.model, vocab: Object.fromEntries(entries.sort(([, a], [, b]) => a - b)) },
  };
}

/** Writes a model of random weights into a folder. */
export async function buildModel(directory: string, { encoder: fields, head, texts }: BuiltModel): Promise<void> {
  const trained = trainWordPiece(texts, { vocabularySize: 300, lowercase: true });
  const { vocabularySize } = loadTokenizer(trained);
  const task = taskOf(head);
  const encoder = readEncoder({ ...fields, vocab_size: vocabularySize }, 'config.json');
  const tokenizer = withPaddingAt(trained, encoder.padId);
  const random = Random.fromSeed(1);
  const weights = new Map<string, NamedTensor>();
  for (const spec of task.head.parameters(encoder)) {
    const values = new Float32Array(spec.shape.reduce((product, each) => product * each, 1));
    initialize(spec, values, () => random.normal());
    weights.set(spec.name, { shape: spec.shape, values });
  }
  const name = head === 'tokens' ? 'Grapefruit' : 'Papaya';
  const type = head === 'tokens' ? 'sequence-labeling' : 'multiclass-text-classification';
  const family = families[name];
  const training = await family.training();
  const described = modelFolderConfig(
    encoder,
    { name: 'small', type, family: name, size: 'mini' },
    { ...task.describe(), files: [], lowercase: true },
    { max_tokens: MAX_TOKENS },
  );
  const values = new Map([...weights].map(([each, tensor]) => [each, tensor.values]));
  const { companions, companionTensors } = training;
  const config = configForOthers(described, training);
  const onnx = await exportOnnx(family, encoder, config, values);
  const folder = {
    config,
    tokenizer,
    tokenizerConfig: tokenizerConfig(tokenizer, MAX_TOKENS),
    weights: new Map([...weights, ...(companionTensors?.(encoder, config) ?? [])]),
    onnx,
    files: companions?.(encoder, config) ?? new Map(),
  };
  await writeModelFolder(directory, { ...folder, training: {} });
}
