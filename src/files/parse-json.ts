import type * as z from 'zod';

/** The value of a JSON text; undefined if it isn't JSON or doesn't fit the schema. */
export function parseJson<S extends z.ZodType>(schema: S, text: string): z.infer<S> | undefined {
  try {
    return schema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
