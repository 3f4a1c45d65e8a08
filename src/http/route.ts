import type { Places } from './refusal.js';

/** What is asked for, whoever asks. */
export interface Route {
  /** With the names of its parameters: `/trainer/language/models/{model_id}`. */
  readonly path: `/${string}`;
  readonly tag: 'trainer' | 'predictor' | 'batch predictor' | 'medley' | 'page' | 'operator';
  readonly needsPro?: true;
  readonly places: Places;
}

/** The methods that each path takes, as {@link routePath} writes it. HEAD comes with GET. */
export type AllowedMethods = Readonly<Record<string, readonly string[]>>;

/** `/models/{model_id}` as Hono writes it: `/models/:model_id`. */
export function routePath({ path }: Route): string {
  return path.replaceAll(/\{(\w+)\}/g, ':$1');
}

/** The parameters of a query string, of a repeated one the last; whole numbers as numbers. */
export function queryOf(request: Request): Record<string, unknown> {
  const { searchParams } = new URL(request.url);
  return Object.fromEntries([...searchParams].map(([name, value]) => [name, numberOr(name, value)]));
}

/** `limit` alone is a number. */
function numberOr(name: string, value: string): unknown {
  return name === 'limit' && /^\d{1,9}$/.test(value) ? Number(value) : value;
}
