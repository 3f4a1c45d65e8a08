import { spawnSync } from 'node:child_process';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { fileStorage } from 'orchard-nlp';
import { Served } from './http/served.js';
import { trainSmallModel } from './http/small-model.js';
import { machine } from './report.js';

/**
 * Runs schemathesis, which makes requests from the OpenAPI document and checks every answer against it, on
 * the service with a small model: `npm run bench -- schemathesis --python <python with schemathesis>
 * [--examples 100]`.
 */

const { values: options } = parseArgs({
  options: {
    python: { type: 'string', default: 'python3' },
    examples: { type: 'string', default: '100' },
  },
});
const app_id = 'bench';
const PRETRAINED = 'customer-review';
const folder = await mkdtemp(join(tmpdir(), 'orchard-schemathesis-'));
const id = await trainSmallModel(folder, app_id);
const pretrained = join(folder, 'pretrained');
await cp((await fileStorage(folder).openFolder(id)) ?? '', join(pretrained, PRETRAINED), { recursive: true });
const served = await Served.start({ folder, app_id, model: { id }, workers: 1, pretrained });
console.log(machine());
const { error, status } = spawnSync(
  join(dirname(options.python), 'schemathesis'),
  [
    ...['--config-file', fileURLToPath(new URL('http/schemathesis.toml', import.meta.url))],
    'run',
    new URL('/openapi.json', served.url).href,
    ...['--header', `x-api-key: ${served.apiKey}`],
    ...['--max-examples', options.examples],
    '--continue-on-failure',
    '--no-color',
  ],
  { cwd: folder, stdio: 'inherit', env: { ...process.env, MODEL_ID: id, MODEL_NAME: PRETRAINED } },
);
if (error) console.log(`schemathesis does not start beside ${options.python}: ${error.message}`);
await served.close();
await rm(folder, { recursive: true });
process.exitCode = status ?? 1;
