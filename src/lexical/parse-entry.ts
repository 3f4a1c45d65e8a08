import type * as z from 'zod';

/** A metadata entry of a file, parsed as JSON; undefined if it is missing or doesn't fit the schema. */
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
