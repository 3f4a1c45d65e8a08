import type { InferenceResult } from '../../contract/index.js';
import type { TagDoubt } from '../../datasets/index.js';
import type { Aggregation } from '../../models/index.js';
import type { TextOutputs, Tokenizer } from '../../text/index.js';
import type { Decoder } from '../family.js';
import { softmax } from '../softmax.js';
import { beginTag, insideTag, OUTSIDE } from './bio-tags.js';

/** Labels of tokens as entities, as `aggregation_strategy` of transformers' TokenClassificationPipeline has them. */

interface TokenReading {
  readonly labels: readonly string[];
  readonly aggregation: Aggregation;
  /** What tokens that continue a word begin with. Undefined: a token begins a word if a space precedes it. */
  readonly continuingPrefix: string | undefined;
  readonly tokenizer: Pick<Tokenizer, 'token' | 'specialTokens'>;
}

/** A token, or all tokens of a word. */
interface LabelledPiece {
  readonly label: number;
  readonly score: number;
  /** Of all labels. */
  readonly shares: Float64Array;
  readonly start: number;
  end: number;
}

export function tokenDecoder(reading: TokenReading): Decoder {
  const { labels, aggregation } = reading;
  const parts = labelParts(labels);
  const piecesOf = (text: string, outputs: TextOutputs) => {
    const tokens = labelledTokens(text, outputs, reading);
    return aggregation === 'first' ? wordsOf(tokens) : tokens;
  };
  const decode = (text: string, outputs: TextOutputs) => entitiesOf(text, piecesOf(text, outputs), parts);
  return Object.assign(decode, {
    tagShares(text: string, outputs: TextOutputs) {
      // Some tokens are of a space alone, or of nothing.
      const pieces = piecesOf(text, outputs).filter(({ start, end }) => text.slice(start, end).trim() !== '');
      return bioShares(pieces, parts);
    },
  });
}

/** Labels that don't begin an entity continue one as far as the piece before is probably of their type; else they begin one. */
function bioShares(pieces: readonly LabelledPiece[], parts: readonly LabelParts[]): TagDoubt[] {
  let open = new Map<string, number>();
  return pieces.map(({ start, end, shares }) => {
    const byType = new Map<string, { begun: number; other: number; open: number }>();
    for (const [label, { type, begins, ends }] of parts.entries()) {
      const share = shares[label] ?? 0;
      const sums = byType.get(type) ?? { begun: 0, other: 0, open: 0 };
      sums[begins ? 'begun' : 'other'] += share;
      if (!ends) sums.open += share;
      byType.set(type, sums);
    }
    const tags: Record<string, number> = {};
    for (const [type, { begun, other }] of byType) {
      const inside = Math.min(other, open.get(type) ?? 0);
      if (type === OUTSIDE) tags[OUTSIDE] = begun + other;
      else Object.assign(tags, { [beginTag(type)]: begun + other - inside, [insideTag(type)]: inside });
    }
    open = new Map([...byType].map(([type, sums]) => [type, sums.open]));
    return { start, end, tags };
  });
}

interface LabelledToken extends LabelledPiece {
  readonly continuesWord: boolean;
}

/** Where windows overlap, the first half of what they share is the earlier one's. */
function labelledTokens(text: string, windows: TextOutputs, reading: TokenReading): LabelledToken[] {
  const { labels } = reading;
  const tokens: LabelledToken[] = [];
  for (const { encoding, outputs } of windows) {
    const { ids, offsets, sequenceIds } = encoding;
    if (offsets === null) continue;
    const from = offsets[2 * sequenceIds.indexOf(0)] ?? 0;
    const shared = tokens.findIndex(({ start }) => start >= from);
    const cut = shared === -1 ? undefined : tokens[Math.floor((shared + tokens.length) / 2)]?.start;
    if (cut !== undefined) tokens.length = tokens.findIndex(({ start }) => start >= cut);
    for (let token = 0; token < ids.length; token += 1) {
      const [start = 0, end = 0] = [offsets[2 * token], offsets[2 * token + 1]];
      if (sequenceIds[token] !== 0 || (cut !== undefined && start < cut)) continue;
      const shares = softmax(outputs.subarray(token * labels.length, (token + 1) * labels.length));
      const score = Math.max(...shares);
      const continuesWord = isContinued(text, ids[token] ?? 0, start, reading);
      tokens.push({ label: shares.indexOf(score), score, shares, start, end, continuesWord });
    }
  }
  return tokens;
}

function isContinued(text: string, id: number, start: number, { continuingPrefix, tokenizer }: TokenReading): boolean {
  if (id === tokenizer.specialTokens.unknown) return false;
  if (continuingPrefix !== undefined) return tokenizer.token(id)?.startsWith(continuingPrefix) ?? false;
  return start > 0 && !text.slice(start - 1, start + 1).includes(' ');
}

/** Each word has the label and the score of its first token. */
function wordsOf(tokens: readonly LabelledToken[]): LabelledPiece[] {
  const words: LabelledPiece[] = [];
  for (const { continuesWord, ...token } of tokens) {
    const word = words.at(-1);
    if (continuesWord && word !== undefined) word.end = token.end;
    else words.push(token);
  }
  return words;
}

interface LabelParts {
  readonly type: string;
  /** Whether it never continues an entity. */
  readonly begins: boolean;
  /** Whether nothing continues its entity. */
  readonly ends: boolean;
  /** What must be equal for it to continue an entity. */
  readonly joins: string;
}

/** B, I, E or L (last), S or U (single), in front of a type. */
const POSITION = /^([BIELSU])-(.+)$/su;

/**
 * The parts of BIO, IO, BIOES and BILOU labels; any other label is a type. transformers knows B and I only, so it would
 * end an entity before each E or L.
 */
function labelParts(labels: readonly string[]): readonly LabelParts[] {
  const entities = labels.filter((label) => label !== OUTSIDE);
  const isPositioned = entities.every((label) => POSITION.test(label));
  return labels.map((label) => {
    const [, position = '', type = label] = POSITION.exec(label) ?? [];
    if (position === 'B' || position === 'I' || isPositioned) {
      return { type, joins: type, begins: 'BSU'.includes(position || '-'), ends: 'ELSU'.includes(position || '-') };
    }
    return { type: label.slice(label.indexOf('-') + 1), joins: label, begins: false, ends: false };
  });
}

/** The distinct types of such labels, in the order in which they first occur. */
export function typesOfTokens(labels: readonly string[]): readonly string[] {
  return [...new Set(labelParts(labels).map(({ type }) => type))].filter((type) => type !== OUTSIDE);
}

/** An entity's score is the mean of its pieces', and its text begins and ends without white space. */
function entitiesOf(text: string, pieces: readonly LabelledPiece[], parts: readonly LabelParts[]): InferenceResult {
  const found: FoundEntities = { labels: [], scores: [], tokens: [], token_start_positions: [] };
  let open: { readonly type: string; joins: string; ends: boolean; readonly pieces: LabelledPiece[] } | undefined;
  const close = () => {
    if (open !== undefined && open.type !== OUTSIDE) add(text, open.type, open.pieces, found);
  };
  for (const piece of pieces) {
    const { type, joins, begins, ends } = parts[piece.label] ?? NONE;
    if (open !== undefined && !open.ends && !begins && open.joins === joins) {
      open.pieces.push(piece);
      open.ends = ends;
      continue;
    }
    close();
    open = { type, joins, ends, pieces: [piece] };
  }
  close();
  return found;
}

interface FoundEntities extends InferenceResult {
  readonly tokens: string[];
  readonly token_start_positions: number[];
}

const NONE: LabelParts = { type: OUTSIDE, joins: OUTSIDE, begins: false, ends: false };

function add(text: string, type: string, pieces: readonly LabelledPiece[], found: FoundEntities): void {
  const start = pieces[0]?.start ?? 0;
  const read = text.slice(start, pieces.at(-1)?.end ?? 0);
  const entity = read.trim();
  if (entity === '') return;
  found.labels.push(type);
  found.scores.push(pieces.reduce((sum, { score }) => sum + score, 0) / pieces.length);
  found.tokens.push(entity);
  found.token_start_positions.push(start + read.length - read.trimStart().length);
}
