import type * as z from 'zod';

/** A metadata entry of a file, as JSON that was checked; undefined where it is missing or doesn't fit. */
export function parseEntry<Schema extends z.ZodType>(
  schema: Schema,
  entry: string | undefined,
): z.infer<Schema> | undefined {
  try {
    return schema.safeParse(JSON.parse(entry ?? '')).data;
  } catch {
    return undefined;
  }
}
