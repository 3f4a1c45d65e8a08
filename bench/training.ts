import { parseArgs } from 'node:util';
import { machine } from './report.js';
import { measureApplication } from './training/application.js';
import { compareSteps } from './training/steps.js';

/**
 * Training speed, compared with PyTorch if it is installed: steps of four encoders
 * (bench/training/configurations.ts) in rounds that take turns, then 1,000 steps through the public API for
 * memory and event loop.
 * Usage: `npm run bench -- training [--only a,b,c,d --rounds 5 --threads 2 --python python3 --system-python
 * /usr/bin/python3 --steps 1000 --size mini --tokens 64]`; `--steps 0` leaves the second part out, `--only
 * none` the first.
 */

const { values: options } = parseArgs({
  options: {
    only: { type: 'string', default: 'a,b,c,d' },
    rounds: { type: 'string', default: '5' },
    threads: { type: 'string', default: '2' },
    python: { type: 'string', default: 'python3' },
    'system-python': { type: 'string', default: '/usr/bin/python3' },
    steps: { type: 'string', default: '1000' },
    size: { type: 'string', default: 'mini' },
    tokens: { type: 'string', default: '64' },
  },
});
const threads = Number(options.threads);
console.log(`${machine()}; ${threads} threads`);
if (options.only !== 'none') {
  await compareSteps({
    threads,
    rounds: Number(options.rounds),
    asked: options.only.split(','),
    python: options.python,
    systemPython: options['system-python'],
  });
}
const steps = Number(options.steps);
if (steps > 0) {
  await measureApplication({ size: options.size, tokens: Number(options.tokens), steps, threads });
}
