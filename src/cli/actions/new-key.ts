import * as z from 'zod';
import { accountSchema } from '../../contract/index.js';
import { addToKeyFile, newApiKey } from '../../http/index.js';
import { checked } from '../checked.js';
import type { CommandRun } from '../command-definition.js';

const newKeySchema = z.strictObject({
  'app-id': accountSchema.shape.app_id,
  keys: z.string().min(1),
  tier: accountSchema.shape.tier.default('pro'),
});

/** `orchard new-key`: prints a new key, the only time that it is seen, and keeps its hash. */
export async function newKey({ given, output, isJson }: CommandRun): Promise<number> {
  const { 'app-id': app_id, tier, keys } = checked(newKeySchema, given);
  const { apiKey, stored } = newApiKey({ app_id, tier });
  await addToKeyFile(keys, stored);
  if (isJson) await output.json({ api_key: apiKey, app_id, tier, keys });
  else await output.line(apiKey);
  return 0;
}
