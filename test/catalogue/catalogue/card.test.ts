import { describe, expect, it } from 'vitest';
import { type CardFacts, catalogueCard } from '../../../models/recipes/catalogue/card.js';
import { emotionDetection } from '../../../models/recipes/catalogue/models/emotion-detection.js';
import { newEncoder } from '../../../src/encoder/index.js';
import { modelFolderConfig, trainingRecordSchema } from '../../../src/models/index.js';

const kind = { type: 'multilabel-text-classification', family: 'Papaya', size: 'mini' };
const part = { accuracy: 0.5, f1: 0.4 };

const facts: CardFacts = {
  config: modelFolderConfig(
    {
      architectures: ['BertModel'],
      ...newEncoder('mini', 16_000).config,
      id2label: { 0: 'joy', 1: 'grief' },
      label2id: { joy: 0, grief: 1 },
      orchard: {
        format: 1,
        ...kind,
        labels: ['joy', 'grief'],
        pooling: 'mean',
        lowercase: true,
        max_tokens: 128,
        files: [],
      },
    },
    'config.json',
  ),
  training: trainingRecordSchema.parse({
    model_config: { name: 'emotions', ...kind },
    training_config: {},
    hyperparameters: { batchSize: 32, learningRate: 0.0003 },
    backbone: { name: 'english-mini' },
    seed: 7,
    training_stats: {
      batch_size: 32,
      epoch: 1,
      metrics: { elapsed_time: [], training: { loss: [] }, validation: {} },
    },
    parts: { encoder: part, expert: part, blend: { accuracy: 0.6, f1: 0.5 } },
    precision: { float32: 0.512, int8: 0.51, answers: 'int8' },
    warnings: [],
  }),
  data: {
    sources: [{ title: 'GoEmotions', licence: 'Apache-2.0', train: 40000, dev: 5000, leaks: 341 }],
    train: 39000,
    dev: 4900,
    duplicates: 1100,
  },
  figures: {
    tests: [{ test: 'GoEmotions, test', metric: 'macro-F1', value: 0.4567, low: 0.44, high: 0.47, rows: 5427 }],
    speed: { texts_per_second: 1234, p50_ms: 0.84, first_answer_ms: 321 },
    machine: 'a machine, 4 cores',
  },
  robustness: {
    edited: [
      {
        test: 'GoEmotions, test',
        metric: 'macro-F1',
        rows: 1000,
        figures: [
          { edit: 'as published', value: 0.49, low: 0.45, high: 0.53 },
          { edit: 'typos', value: 0.447, low: 0.41, high: 0.48 },
        ],
      },
    ],
    kinds: [{ kind: 'relief', label: 'joy', rows: 40, value: 0.75, low: 0.6, high: 0.86 }],
    calibration: [{ test: 'Letters', rows: 300, accuracy: 0.8, confidence: 0.85, error: 0.052 }],
  },
  bytes: 9_870_000,
};

const card = catalogueCard(emotionDetection, facts);

describe("a catalogue model's card", () => {
  it('shows in three lines how to ask', () => {
    const [, code = ''] = /```js\n([\s\S]*?)```/.exec(card) ?? [];
    expect(code.trim().split('\n')).toHaveLength(3);
    expect(code).toContain(`predictPretrained('emotion-detection'`);
  });

  it('says what it is measured to do, how surely, and beside what', () => {
    expect(card).toContain(
      '| GoEmotions, test | 5,427 | macro-F1 | **0.457** (0.440 to 0.470) | BERT-base macro-F1 0.46 (Demszky et al. 2020) |',
    );
    expect(card).toContain('npm run bench -- catalogue <datasets folder> emotion-detection');
  });

  it('says how fast it is, where that was, and how large', () => {
    expect(card).toContain('1,234 texts per second in batches of 20, 0.8 ms for a single text (median), 321 ms');
    expect(card).toContain('a machine, 4 cores');
    expect(card).toContain('9.9 MB on disk; the encoder reads up to 128 tokens');
  });

  it('names data, licence, rows and what was left out', () => {
    expect(card).toContain('| GoEmotions | Apache-2.0 | 45,000 | 341 |');
    expect(card).toContain(
      'After the removal of 1,100 duplicates, the model was trained on 39,000 rows. Another 4,900 dev',
    );
  });

  it('tells labels, limits, start, settings and precision', () => {
    expect(card).toContain('joy, grief.');
    for (const weakness of emotionDetection.weaknesses) expect(card).toContain(weakness);
    expect(card).toContain(
      'a BERT encoder with 4 layers of width 256, trained from the backbone english-mini, and a lexical expert',
    );
    expect(card).toContain('batch size 32, learning rate 0.0003, seed 7');
    expect(card).toContain('| Blend of both | 60.0 % | 50.0 % |');
    expect(card).toContain('0.512 in float32 and 0.510 with 8-bit weights');
  });

  it('says what becomes of the figures on texts that are not as neat', () => {
    expect(card).toContain('npm run bench -- robustness <datasets folder> emotion-detection');
    expect(card).toContain('| typos | 0.447 | 0.410 to 0.480 |');
    expect(card).toContain('Typos: one in five words has a typo.');
    expect(card).not.toContain('As a tweet:');
    expect(card).toContain('| relief | joy | 40 | 75.0 % |');
    expect(card).toContain('| Letters | 300 | 80.0 % | 85.0 % | 0.052 |');
  });

  it('says so where nothing was measured', () => {
    const nothing = { figures: undefined, robustness: undefined };
    const unmeasured = catalogueCard(emotionDetection, { ...facts, ...nothing });
    expect(unmeasured).toContain('Not measured yet');
    expect(unmeasured).not.toContain('0.457');
    expect(unmeasured).not.toContain('What users type');
  });
});
