import type { InferenceResult } from '../../contract/index.js';
import { type CrfExpert, LogMatrix, TagLattice, type TagTransitions, viterbi } from '../../lexical/index.js';
import { runToEnd } from '../../system/index.js';
import { placeOf } from '../explanation.js';
import type { Word } from '../words.js';
import { type BioTag, beginTag, type EntitySpan, insideTag, parseTag, spansOfParsed } from './bio-tags.js';
import { blendEmissions, blendTransitions, type TagEvidence, type TagWeights } from './calibration.js';

/** The encoder's logits as log-probabilities of the tags of each word. [words, tags] */
export function logProbabilities(logits: Float32Array, tags: number): Float32Array {
  const result = new Float32Array(logits.length);
  for (let start = 0; start < logits.length; start += tags) {
    let highest = Number.NEGATIVE_INFINITY;
    for (let at = start; at < start + tags; at += 1) highest = Math.max(highest, logits[at] ?? 0);
    let sum = 0;
    for (let at = start; at < start + tags; at += 1) sum += Math.exp((logits[at] ?? 0) - highest);
    const logSum = Math.log(sum);
    for (let at = start; at < start + tags; at += 1) result[at] = (logits[at] ?? 0) - highest - logSum;
  }
  return result;
}

/** An entity and the probability that exactly these words are an entity of exactly this type. */
export interface FoundEntity extends EntitySpan {
  readonly score: number;
}

const ENTITIES_A_STEP = 500;

export class SequenceDecoder {
  readonly #transitions: TagTransitions;
  readonly #ids: ReadonlyMap<string, number>;
  readonly #tags: readonly string[];
  readonly #parsed: readonly (BioTag | undefined)[];
  readonly #matrix: LogMatrix;
  readonly #weights: TagWeights;

  constructor(tags: readonly string[], constraints: TagTransitions, expert: TagTransitions, weights: TagWeights) {
    this.#tags = tags;
    this.#parsed = tags.map(parseTag);
    this.#weights = weights;
    this.#transitions = blendTransitions(constraints, expert, weights.expert);
    this.#matrix = new LogMatrix(this.#transitions.between, tags.length);
    this.#ids = new Map(tags.map((tag, id) => [tag, id]));
  }

  tagsOf(evidence: TagEvidence): string[] {
    const path = viterbi(blendEmissions(evidence, this.#weights), this.#transitions);
    return Array.from(path, (id) => this.#tags[id] ?? '');
  }

  *entities(evidence: TagEvidence): Generator<undefined, FoundEntity[]> {
    const emissions = blendEmissions(evidence, this.#weights);
    const path = viterbi(emissions, this.#transitions);
    yield;
    const spans = spansOfParsed(Array.from(path, (id) => this.#parsed[id]));
    return yield* this.#scored(emissions, spans);
  }

  /** How probable each tag of each word is, over all tags of the sentence. [words, tags] */
  marginals(evidence: TagEvidence): Float32Array {
    return new TagLattice(blendEmissions(evidence, this.#weights), this.#transitions, this.#matrix).marginals();
  }

  scored(evidence: TagEvidence, spans: readonly EntitySpan[]): FoundEntity[] {
    return runToEnd(this.#scored(blendEmissions(evidence, this.#weights), spans));
  }

  *#scored(emissions: Float32Array, spans: readonly EntitySpan[]): Generator<undefined, FoundEntity[]> {
    if (spans.length === 0) return [];
    const lattice = new TagLattice(emissions, this.#transitions, this.#matrix);
    const found: FoundEntity[] = [];
    for (const span of spans) {
      if (found.length % ENTITIES_A_STEP === 0) yield;
      found.push({ ...span, score: this.#probability(lattice, span) });
    }
    return found;
  }

  #probability(lattice: TagLattice, { type, start, end }: EntitySpan): number {
    const begin = this.#ids.get(beginTag(type)) ?? 0;
    const inside = this.#ids.get(insideTag(type));
    const ids = Array.from({ length: end - start }, (_, at) => (at === 0 ? begin : (inside ?? begin)));
    const notAfter = inside === undefined ? [] : [inside];
    // Rounding may lift a probability above 1.
    return Math.min(1, lattice.spanProbability(start, ids, notAfter));
  }
}

/** What both experts say about words. @param logits of the encoder, [words, tags]. */
export function* tagEvidence(
  words: readonly Word[],
  logits: Float32Array,
  tags: number,
  expert: CrfExpert,
  lowercase: boolean,
): Generator<undefined, TagEvidence> {
  const encoder = logProbabilities(logits, tags);
  yield;
  const texts = words.map(({ text }) => text);
  return { encoder, expert: yield* expert.emissionsInSteps(foldWords(texts, lowercase)) };
}

export function foldWords(words: readonly string[], lowercase: boolean): readonly string[] {
  return lowercase ? words.map((word) => word.toLowerCase()) : words;
}

export function entityResult(text: string, words: readonly Word[], entities: readonly FoundEntity[]): InferenceResult {
  const places = entities.map(({ start, end }) => placeOf(words, { first: start, end }));
  return {
    labels: entities.map(({ type }) => type),
    scores: entities.map(({ score }) => score),
    tokens: places.map(({ from, to }) => text.slice(from, to)),
    token_start_positions: places.map(({ from }) => from),
  };
}
