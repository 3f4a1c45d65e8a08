import { APP_ID, tiers } from '../../contract/index.js';
import { command } from '../command.js';
import { choice, matching, option, required } from '../parameters.js';

/** An account's name. */
export const appId = matching(APP_ID, '1 to 50 printable ASCII characters');

export const newKeyCommand = command({
  name: 'new-key',
  summary: 'add an API key for an account to a key file, and print it',
  details: 'The file stores only a hash of the key, so the key is shown only once.',
  parameters: {
    appId: required(option('--app-id <name>', 'name of the account (app_id)', appId)),
    keys: required(option('--keys <file>', 'key file; created if it does not exist')),
    tier: choice('--tier <tier>', 'subscription tier (default: pro)', tiers),
  },
  async run({ settings: { appId: app_id, keys, tier = 'pro' }, output }) {
    const { addToKeyFile, newApiKey } = await import('../../http/index.js');
    const { apiKey, stored } = newApiKey({ app_id, tier });
    await addToKeyFile(keys, stored);
    await output.result({ api_key: apiKey, app_id, tier, keys }, apiKey);
  },
});
