import { type Evidence, PassageCollection } from '../../src/search/index.js';
import { type Random, runToEnd } from '../../src/system/index.js';

/** Questions about a few passages, with and without an answer among them, as two experts see them. */

/** Texts with their vectors, of unit length. */
export interface Corpus {
  readonly name: string;
  readonly passages: readonly {
    readonly text: string;
    readonly topic: number;
    /** Of its sentences. */
    readonly vectors: readonly Float32Array[];
  }[];
  readonly questions: readonly {
    readonly text: string;
    readonly passage: number;
    readonly vector: Float32Array;
  }[];
}

/** How vectors of the backbones are compared. */
export const COSINE = { score: (product: number) => product, dividesByNorm: true };

/** Passages that a set leaves out at least, for questions that it doesn't answer. */
const LEFT_OUT = 2;

/** A question asked of some passages. */
export interface Asked {
  /** Whether all passages are about one topic, that of the question. */
  readonly sameTopic: boolean;
  /** Position of the passage that answers; undefined if none does. */
  readonly right: number | undefined;
  readonly evidence: Evidence;
}

/**
 * Draws sets of passages, and asks each up to 20 questions that one of them answers and as many that none does.
 * @param size passages of a set.
 */
export function* draw(corpus: Corpus, size: number, sets: number, random: Random): Generator<Asked> {
  const questionsOf = grouped(corpus.questions, ({ passage }) => passage);
  const all = [...corpus.passages.keys()].filter((id) => questionsOf.has(id));
  if (all.length < size + LEFT_OUT) return;
  const topics = [...grouped(all, (id) => corpus.passages[id]?.topic).values()];
  const large = topics.filter((ids) => ids.length >= size + LEFT_OUT);
  for (let drawn = 0; drawn < sets; drawn += 1) {
    const topic = drawn % 2 === 1 ? large[Math.floor(drawn / 2) % Math.max(1, large.length)] : undefined;
    const pool = topic ?? all;
    const ids = random.shuffle(pool).slice(0, size);
    const others = random.shuffle(pool.filter((id) => !ids.includes(id))).slice(0, 20);
    const passages = ids.flatMap((id) => corpus.passages[id] ?? []);
    const stored = passages.map(({ text }, at) => ({ id: String(at), text }));
    const collection = runToEnd(PassageCollection.indexing(stored, true));
    collection.addVectors(passages.flatMap((each) => each.vectors));
    for (const id of [...ids.slice(0, 20), ...others]) {
      const [question] = random.shuffle(questionsOf.get(id) ?? []);
      if (question === undefined) continue;
      const at = ids.indexOf(id);
      yield {
        sameTopic: topic !== undefined,
        right: at === -1 ? undefined : at,
        evidence: collection.evidence(question.text, question.vector, COSINE).evidence,
      };
    }
  }
}

function grouped<Item, Key>(items: readonly Item[], keyOf: (item: Item) => Key): Map<Key, Item[]> {
  const groups = new Map<Key, Item[]>();
  for (const item of items) {
    const key = keyOf(item);
    groups.set(key, [...(groups.get(key) ?? []), item]);
  }
  return groups;
}
