import type { PlanInput } from '../distillation/plan.js';

/**
 * What English students are taught, by name. Those of 12 layers teach a student of 4 after its second layer what they
 * have after their sixth, as TinyBERT's even spacing has it (Jiao et al. 2020).
 */
export const plans: Readonly<Record<string, PlanInput>> = {
  /** The recipe of the first backbones. */
  minilm: {
    teachers: [
      {
        name: 'all-MiniLM-L6-v2',
        lessons: [
          { kind: 'passages', weight: 0.5 },
          { kind: 'spans', weight: 0.5 },
        ],
      },
    ],
  },
  e5: {
    teachers: [
      {
        name: 'e5-small-v2',
        lessons: [
          { kind: 'passages', weight: 0.5 },
          { kind: 'spans', weight: 0.5 },
        ],
      },
    ],
  },
  /** Words and passages from e5, passages also from bge. */
  'e5-bge': {
    teachers: [
      {
        name: 'e5-small-v2',
        lessons: [
          { kind: 'passages', weight: 0.25 },
          { kind: 'spans', weight: 0.5 },
        ],
      },
      { name: 'bge-small-en-v1.5', lessons: [{ kind: 'passages', weight: 0.25 }] },
    ],
  },
  /**
   * The same, and what BERT-base cased knows of words in context: the layer before its last, which found entities best
   * of all single ones (Devlin et al. 2019, table 7). Half of the passages show their capitals.
   */
  'e5-bge-capitals': {
    capitalsShare: 0.5,
    teachers: [
      {
        name: 'e5-small-v2',
        lessons: [
          { kind: 'passages', weight: 0.2 },
          { kind: 'spans', weight: 0.4 },
        ],
      },
      { name: 'bge-small-en-v1.5', lessons: [{ kind: 'passages', weight: 0.2 }] },
      { name: 'bert-base-cased', lessons: [{ kind: 'spans', track: 'layer-11', weight: 0.2 }] },
    ],
  },
  /** Without BERT and capitals, with an inner layer. */
  'e5-bge-layers': {
    teachers: [
      {
        name: 'e5-small-v2',
        lessons: [
          { kind: 'passages', weight: 0.25 },
          { kind: 'spans', weight: 0.4 },
          { kind: 'spans', track: 'layer-6', studentLayer: 2, weight: 0.1 },
        ],
      },
      { name: 'bge-small-en-v1.5', lessons: [{ kind: 'passages', weight: 0.25 }] },
    ],
  },
  /** Instead with attention relations: 8 heads divide 256 and 384. */
  'e5-bge-relations': {
    teachers: [
      {
        name: 'e5-small-v2',
        lessons: [
          { kind: 'passages', weight: 0.25 },
          { kind: 'spans', weight: 0.4 },
          { kind: 'relations', layer: 11, heads: 8, weight: 0.1 },
        ],
      },
      { name: 'bge-small-en-v1.5', lessons: [{ kind: 'passages', weight: 0.25 }] },
    ],
  },
  /** For students that see capitals: words from the masked-language head of BERT-base cased. */
  cased: {
    teachers: [
      {
        name: 'e5-small-v2',
        lessons: [
          { kind: 'passages', weight: 0.25 },
          { kind: 'spans', weight: 0.25 },
        ],
      },
      { name: 'bge-small-en-v1.5', lessons: [{ kind: 'passages', weight: 0.15 }] },
      {
        name: 'bert-base-cased',
        lessons: [
          { kind: 'spans', track: 'words', weight: 0.2 },
          { kind: 'spans', track: 'layer-11', weight: 0.15 },
        ],
      },
    ],
  },
};
