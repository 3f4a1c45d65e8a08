import type * as z from 'zod';
import { validate } from '../contract/index.js';
import { isPauseDue, pause } from './pauses.js';

/** Texts that are checked at a time. */
const CHECKED = 500;

/** A copy of an array, since the caller may change its own after the call. Other values stay as they are. */
export function listAsOfNow<Given>(given: Given): Given;
export function listAsOfNow(given: unknown): unknown {
  return Array.isArray(given) ? [...given] : given;
}

/** As `validate` of an array, with pauses; of what it was when this was called. @throws ValidationError with every problem */
export async function validateWithPauses<Item>(
  schema: z.ZodType<Item[]>,
  input: unknown,
  at: readonly (string | number)[],
): Promise<readonly Item[]> {
  if (!Array.isArray(input) || input.length <= CHECKED) return validate(schema, input, at);
  const given: readonly unknown[] = [...input];
  const checked: Item[] = [];
  for (let from = 0; from < given.length; from += CHECKED) {
    if (isPauseDue()) await pause();
    const some = schema.safeParse(given.slice(from, from + CHECKED));
    if (!some.success) return validate(schema, given, at);
    for (const item of some.data) checked.push(item);
  }
  return checked;
}
