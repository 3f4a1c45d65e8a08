import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { ResultAsync } from 'neverthrow';
import type { OrchardError } from '../../src/contract/errors.js';
import type { ModelConfig } from '../../src/contract/index.js';
import {
  createClassificationArchive,
  createRetrievalArchive,
  createSequenceArchive,
} from '../../src/families/index.js';
import { runTraining } from '../../src/training/run-training.js';
import { writeCheckpoint } from '../support/checkpoint-builder.js';
import { resultOf } from '../support/outcomes.js';

/** A tiny model of every family, as training leaves its folder: each file has a few kilobytes. */

/** Their folders, by name. */
export type TinyModels = Readonly<Record<string, string>>;

interface Recipe {
  readonly model: Pick<ModelConfig, 'type' | 'family' | 'preprocessing'>;
  /** Whether its graph has 8-bit weights. */
  readonly quantize: boolean;
  /** Writes the archive to train on. */
  archive(path: string): ResultAsync<unknown, OrchardError>;
}

const texts = ['the lamp is great', 'the room is awful', 'the lamp works and is great', 'the room broke'];
const verdicts = ['good', 'bad', 'good', 'mixed'] as const;

const recipes: Readonly<Record<string, Recipe>> = {
  classifier: {
    model: { type: 'multiclass-text-classification', family: 'Papaya' },
    quantize: true,
    archive: (path) => {
      const rows = texts.map((text, row) => ({ text, label: verdicts[row] ?? 'good' }));
      const type = 'multiclass-text-classification';
      return createClassificationArchive({ type, name: 'tiny', rows, devRows: rows }, path);
    },
  },
  'binary classifier': {
    model: { type: 'binary-text-classification', family: 'Papaya' },
    quantize: false,
    archive: (path) => {
      const rows = texts.map((text, row) => ({ text, label: row % 2 === 0 ? 'good' : 'bad' }));
      const type = 'binary-text-classification';
      return createClassificationArchive({ type, name: 'tiny', rows, devRows: rows }, path);
    },
  },
  tagger: {
    model: { type: 'sequence-labeling', family: 'Grapefruit' },
    quantize: false,
    archive: (path) => {
      const rows = texts.map((text) => {
        const words = text.split(' ');
        return { words, tags: words.map((word) => (word === 'lamp' || word === 'room' ? 'B-THING' : 'O')) };
      });
      return createSequenceArchive({ name: 'tiny', rows, devRows: rows }, path);
    },
  },
  retriever: {
    model: { type: 'question-answering', family: 'Dragonfruit' },
    quantize: false,
    archive: (path) => {
      const rows = texts.map((context, row) => ({
        question: `is the ${context.split(' ')[row % 4]} great?`,
        context,
      }));
      return createRetrievalArchive({ name: 'tiny', rows, devRows: rows }, path);
    },
  },
};

/** Trains them below a directory. */
export async function tinyModels(parent: string): Promise<TinyModels> {
  const backbone = { name: 'tiny', directory: writeCheckpoint(join(parent, 'backbone')) };
  const models: Record<string, string> = {};
  for (const [name, { model, quantize, archive }] of Object.entries(recipes)) {
    const directory = join(parent, name.replaceAll(' ', '-'));
    await mkdir(directory);
    await resultOf(archive(`${directory}.zip`));
    await runTraining(
      {
        id: 'tiny',
        dataset: { url: pathToFileURL(`${directory}.zip`).href },
        model_config: { name: 'tiny', size: 'mini', ...model },
        training_config: { batch_size: 4, num_epochs: 1, learning_rate: 1e-3 },
        backbone,
        directory,
        allowFileUrls: true,
        threads: 1,
        seed: 1,
        tuning: { quantize },
      },
      { signal: new AbortController().signal, onEvent: () => undefined },
    );
    await rm(`${directory}.zip`);
    models[name] = directory;
  }
  return {
    ...models,
    'byte-level classifier': await byteLevel(join(parent, 'byte-level'), models.classifier ?? ''),
  };
}

const SPECIAL = ['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]'];
/** GPT-4o's pattern, shortened. */
const PATTERN =
  "[^\\r\\n\\p{L}\\p{N}]?\\p{L}+(?i:'s|'t)?|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";

/** The classifier with a tokenizer that isn't of BERT's kind: normalizer, patterns, byte-level BPE. */
async function byteLevel(directory: string, classifier: string): Promise<string> {
  await cp(classifier, directory, { recursive: true });
  const pieces = [...SPECIAL, ...'abcdefghijklmnopqrstuvwxyzĠ', 'th', 'the', 'Ġthe'];
  const tokenizer = {
    version: '1.0',
    added_tokens: SPECIAL.map((content, id) => ({ id, content, special: true, normalized: false })),
    normalizer: {
      type: 'Sequence',
      normalizers: [
        { type: 'NFKC' },
        { type: 'Replace', pattern: { Regex: ' {2,}' }, content: ' ' },
        { type: 'Lowercase' },
      ],
    },
    pre_tokenizer: {
      type: 'Sequence',
      pretokenizers: [
        { type: 'Split', pattern: { Regex: PATTERN }, behavior: 'Isolated', invert: false },
        { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: false },
      ],
    },
    post_processor: JSON.parse(await readFile(join(classifier, 'tokenizer.json'), 'utf8')).post_processor,
    decoder: { type: 'ByteLevel', add_prefix_space: true, trim_offsets: true, use_regex: true },
    model: {
      type: 'BPE',
      unk_token: '[UNK]',
      continuing_subword_prefix: '',
      end_of_word_suffix: '',
      fuse_unk: false,
      byte_fallback: false,
      vocab: Object.fromEntries(pieces.map((piece, id) => [piece, id])),
      merges: [
        ['t', 'h'],
        ['th', 'e'],
        ['Ġ', 'the'],
      ],
    },
  };
  await writeFile(join(directory, 'tokenizer.json'), JSON.stringify(tokenizer));
  return directory;
}
