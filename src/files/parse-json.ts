import type * as z from 'zod';

/** What a JSON text holds, where it is JSON and of this schema; else undefined. */
export function parseJson<S extends z.ZodType>(schema: S, text: string): z.infer<S> | undefined {
  try {
    return schema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
