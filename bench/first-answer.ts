import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { compareFirstAnswers, firstAnswersTable } from './first-answer/measure.js';
import { machine } from './report.js';
import { findRuntimes } from './runtimes.js';

/**
 * The time from the import to the first answer, compared with transformers.js on the same file: fresh processes that
 * take turns. The start of the runtime isn't counted. Orchard answers with both experts, the peer with the encoder alone.
 *
 * Usage: `npm run bench -- first-answer [--model sentiment-classification] [--query <text>] [--rounds 15] [--runtimes
 * node24,bun,deno]`.
 */

const { values: options } = parseArgs({
  options: {
    model: { type: 'string', default: 'sentiment-classification' },
    query: { type: 'string', default: 'a fine film' },
    rounds: { type: 'string', default: '15' },
    runtimes: { type: 'string', default: '' },
  },
});
const catalogue = fileURLToPath(new URL('../models/catalogue', import.meta.url));
const { model, query } = options;
const runtimes = findRuntimes(options.runtimes);
console.log(`${machine()}; ${model}, ${options.rounds} rounds, medians\n`);
console.log(
  firstAnswersTable(await compareFirstAnswers(runtimes, { catalogue, model, query }, Number(options.rounds))),
);
