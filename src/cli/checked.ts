import type * as z from 'zod';
import { validate } from '../contract/index.js';
import { isOrchardError } from '../errors.js';
import { UsageError } from './usage-error.js';

/** Checks what was given to a command. @throws UsageError that names each option or argument that is wrong */
export function checked<Schema extends z.ZodType>(schema: Schema, given: object): z.infer<Schema> {
  try {
    return validate(schema, given);
  } catch (thrown) {
    if (!isOrchardError(thrown) || thrown.code !== 'validation') throw thrown;
    const problems = thrown.problems.map(({ loc, msg }) => ({ name: loc.join('.'), message: msg }));
    throw new UsageError(thrown.message, problems);
  }
}
