import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { overhead } from '../../http/overhead.js';
import { Served } from '../../http/served.js';
import { account } from '../account.js';
import type { Models, SubjectModels } from '../models.js';
import { shortTexts } from '../scenarios.js';
import { type AloneTask, type ModeName, type Rows, rowsSchema } from './mode.js';

const SCRIPT = fileURLToPath(new URL('process.ts', import.meta.url));
const HTTP_SECONDS = 3;
/** What a process may print and take. */
const LIMITS = { maxBuffer: 2 ** 24 };

/** A measurement of Orchard alone, and the number that came with its option. */
export interface AloneRequest {
  readonly mode: ModeName | 'http';
  readonly amount: number;
  readonly workers: number;
}

/** Measures with the float32 models, then with the 8-bit ones, and prints a table of each. */
export async function measureAlone(models: Models, request: AloneRequest): Promise<Record<string, Rows>> {
  const tables: Record<string, Rows> = {};
  for (const precision of ['float32', 'int8'] as const) {
    const classification = await models.of('classification', precision);
    const tagging = await models.of('tagging', precision);
    const retrieval = await models.of('retrieval', precision);
    if (classification === undefined || tagging === undefined || retrieval === undefined) continue;
    const { mode } = request;
    const ids = {
      classification: idOf(classification),
      tagging: idOf(tagging),
      retrieval: idOf(retrieval),
    };
    const { storage } = classification;
    const rows =
      mode === 'http' ? await measureHttp(storage, ids, request) : await run({ ...request, mode, storage, ids });
    console.log(`\n--${mode} ${request.amount}, ${precision}`);
    console.table(rows);
    tables[precision] = rows;
  }
  return tables;
}

function idOf({ models: [model] }: SubjectModels): string {
  return model?.id ?? '';
}

async function run(task: AloneTask): Promise<Rows> {
  const args = [...process.execArgv, '--expose-gc', SCRIPT, JSON.stringify(task)];
  const { stdout } = await promisify(execFile)(process.execPath, args, LIMITS);
  return rowsSchema.parse(JSON.parse(stdout));
}

/** One request at a time over a connection on loopback, beside calls of the library in the service's process. */
async function measureHttp(
  folder: string,
  { classification: id }: AloneTask['ids'],
  { amount: rounds, workers }: AloneRequest,
): Promise<Rows> {
  const { app_id } = account;
  const served = await Served.start({ folder, app_id, model: { id }, workers });
  const [query = ''] = shortTexts('classification', 1);
  try {
    return { 'one at a time': await overhead(served, { query, rounds, seconds: HTTP_SECONDS }, 1) };
  } finally {
    await served.close();
  }
}
