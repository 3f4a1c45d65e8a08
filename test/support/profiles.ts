import { readdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import * as z from 'zod';

/** What the profiles of ONNX Runtime tell of where nodes ran. */

const profileSchema = z.array(
  z.looseObject({
    cat: z.string(),
    name: z.string(),
    args: z.looseObject({ provider: z.string().optional(), op_name: z.string().optional() }).optional(),
  }),
);

/** The operations that ran on each provider, by its name, each as often as it ran. @param profile as the executor's option. */
export async function operationsByProvider(profile: string): Promise<ReadonlyMap<string, readonly string[]>> {
  const operations = new Map<string, string[]>();
  const folder = dirname(profile);
  for (const name of await readdir(folder)) {
    if (!name.endsWith('.json')) continue;
    const events = profileSchema.parse(JSON.parse(await readFile(join(folder, name), 'utf8')));
    for (const { cat, args } of events) {
      const { provider, op_name = '' } = args ?? {};
      if (cat !== 'Node' || provider === undefined || provider === '') continue;
      operations.set(provider, [...(operations.get(provider) ?? []), op_name]);
    }
  }
  return operations;
}
