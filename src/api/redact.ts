import * as z from 'zod';
import { ValidationError, validate } from '../contract/index.js';
import type { EntityAnswer, FoundEntity } from './answers.js';

/**
 * The replacement of entities, by their type: a text, a function that returns one, or `true` for the type in brackets,
 * such as `[PER]`. Entities of other types stay.
 */
export type Replacements = Readonly<Record<string, string | true | ((entity: FoundEntity) => string)>>;

/** An entity that was replaced. Its offsets are those in the original text. */
export interface RedactedEntity extends FoundEntity {
  readonly replacement: string;
}

/** A text without its entities. */
export interface RedactedText {
  readonly text: string;
  /** What was replaced, from left to right. */
  readonly entities: readonly RedactedEntity[];
}

const replacementsSchema = z.lazy(() =>
  z.record(
    z.string(),
    z.union(
      [z.string(), z.literal(true), z.custom<(entity: FoundEntity) => string>((given) => typeof given === 'function')],
      'give a text, a function or true',
    ),
  ),
);

/**
 * @param given default: every type, in brackets.
 * @param types that the model has.
 * @throws ValidationError for a type that the model doesn't have
 */
export function checkedReplacements(given: Replacements | undefined, types: readonly string[]): Replacements {
  if (given === undefined) return Object.fromEntries(types.map((type) => [type, true as const]));
  const replacements = validate(replacementsSchema, given, ['replacements']);
  for (const type of Object.keys(replacements)) {
    if (types.includes(type)) continue;
    const msg = `the model has no entity type ${JSON.stringify(type)}; it has ${types.join(', ')}`;
    throw new ValidationError([{ loc: ['replacements', type], msg, type: 'unknown_label' }]);
  }
  return replacements;
}

/** @throws ValidationError if a function gives no text, and what a function throws */
export function redacted(text: string, { entities }: EntityAnswer, replacements: Replacements): RedactedText {
  const pieces: string[] = [];
  const replaced: RedactedEntity[] = [];
  let done = 0;
  for (const entity of entities) {
    const by = Object.hasOwn(replacements, entity.type) ? replacements[entity.type] : undefined;
    if (by === undefined) continue;
    const replacement = by === true ? `[${entity.type}]` : typeof by === 'string' ? by : by(entity);
    if (typeof replacement !== 'string') {
      const msg = `the function returned ${typeof replacement} for ${JSON.stringify(entity.text)}; return a string`;
      throw new ValidationError([{ loc: ['replacements', entity.type], msg, type: 'invalid_type' }]);
    }
    // What overlaps the entity before it has no replacement of its own in the text, but goes too.
    if (entity.start >= done) pieces.push(text.slice(done, entity.start), replacement);
    done = Math.max(done, entity.end);
    replaced.push({ ...entity, replacement });
  }
  return { text: [...pieces, text.slice(done)].join(''), entities: replaced };
}
