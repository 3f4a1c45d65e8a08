import { validate as isUuid } from 'uuid';
import { ValidationError } from '../errors.js';

/** The cursor of the page that follows this job. Opaque to callers. */
export function cursorAfter(id: string): string {
  return Buffer.from(id).toString('base64url');
}

/**
 * The id of the job that a page starts after.
 * @throws ValidationError for anything that no page gave.
 */
export function readCursor(cursor: string): string {
  const id = Buffer.from(cursor, 'base64url').toString();
  if (isUuid(id) && cursorAfter(id) === cursor) return id;
  const msg = 'not a cursor of this listing; pass the next_cursor of the page before as it came';
  throw new ValidationError([{ loc: ['cursor'], msg, type: 'invalid_cursor' }]);
}
