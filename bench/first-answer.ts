import { basename, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { exportModel, loadModel } from '../src/api/index.js';
import { orThrow } from '../src/contract/index.js';
import { TemporaryDirectory } from '../src/system/index.js';
import { compareFirstAnswers, type FirstQuestion, firstAnswersTable } from './first-answer/measure.js';
import { machine } from './report.js';
import { findRuntimes } from './runtimes.js';

/**
 * The time from the import to the first answer, compared with transformers.js on the same file: fresh processes that
 * take turns. The start of the runtime isn't counted. Orchard answers with both experts, the peer with the encoder alone.
 *
 * Usage: `npm run bench -- first-answer [--model sentiment-classification] [--query <text>] [--rounds 15] [--runtimes
 * node24,bun,deno] [--engine auto|onnx|wasm] [--checkpoint <folder>]`. `--engine` is Orchard's option `runtime`. `--checkpoint` takes a classifier of Python's transformers in place of the model:
 * Orchard loads the folder itself, which was converted before; transformers.js the ONNX file of its export, in float32.
 */

const { values: options } = parseArgs({
  options: {
    model: { type: 'string', default: 'sentiment-classification' },
    query: { type: 'string', default: 'a fine film' },
    rounds: { type: 'string', default: '15' },
    runtimes: { type: 'string', default: '' },
    engine: { type: 'string', default: 'auto' },
    checkpoint: { type: 'string' },
  },
});
const { query, engine } = options;
const runtimes = findRuntimes(options.runtimes);
const temporary = new TemporaryDirectory();
const question = options.checkpoint === undefined ? catalogueQuestion() : await questionTo(resolve(options.checkpoint));
console.log(`${machine()}; ${question.model}, ${options.rounds} rounds, medians\n`);
console.log(firstAnswersTable(await compareFirstAnswers(runtimes, question, Number(options.rounds))));
await temporary.remove();

function catalogueQuestion(): FirstQuestion {
  const catalogue = fileURLToPath(new URL('../models/catalogue', import.meta.url));
  return { catalogue, model: options.model, query, engine };
}

/** Exports a checkpoint, and loads it once, so that it is converted. */
async function questionTo(checkpoint: string): Promise<FirstQuestion> {
  const catalogue = await temporary.path();
  const model = basename(checkpoint);
  await orThrow(exportModel(checkpoint, join(catalogue, model)));
  await (await orThrow(loadModel(checkpoint))).close();
  return { catalogue, model, query, engine, checkpoint };
}
