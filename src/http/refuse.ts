import type { Context } from 'hono';
import type { HandlerEnvironment } from './environment.js';
import type { Refusal } from './refusal.js';

/** Answers with a refusal; what lies beneath it goes to the log. */
export function refuse(
  context: Context<HandlerEnvironment>,
  { status, detail, cause, data, headers }: Refusal,
): Response {
  if (cause !== undefined) context.set('failure', cause);
  return context.json({ detail, ...(data !== undefined && { data }) }, status, headers);
}
