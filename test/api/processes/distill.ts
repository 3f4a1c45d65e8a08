import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { distill } from '../../../src/index.js';
import { Random } from '../../../src/system/index.js';

/**
 * Distils 400 texts into a folder. The teacher takes a few milliseconds, rejects a tenth of its calls, which differ by seed,
 * and answers nonsense to about 1 % of the texts, always the same. Says what the teacher is asked, and what is kept.
 * Arguments: folder, seed.
 */

const [folder = '', seed = '0'] = process.argv.slice(2);
const things = Array.from({ length: 40 }, (_, at) => `thing ${at}`);
const verdicts = [
  'is great',
  'is a joy',
  'works well',
  'was lovely',
  'is superb',
  'is awful',
  'broke',
  'is a pain',
  'was bad',
  'smells',
];
const texts = things.flatMap((thing) => verdicts.map((verdict) => `The ${thing} ${verdict}`));
const random = Random.fromSeed(Number(seed));
const isNonsense = (text: string) => (createHash('sha256').update(text).digest()[0] ?? 0) < 3;
const say = (line: object) => process.stdout.write(`${JSON.stringify(line)}\n`);

const distilled = await distill({
  teacher: async (some) => {
    say({ asked: some });
    await delay(2 + random.integer(8));
    if (random.uniform() < 0.1) throw new Error('overloaded');
    return some.map((text) => {
      if (isNonsense(text)) return 'a poem';
      const isGood = verdicts.slice(0, 5).some((verdict) => text.endsWith(verdict));
      return { good: isGood ? 0.9 : 0.1, bad: isGood ? 0.1 : 0.9 };
    });
  },
  ...{ texts, labels: ['bad', 'good'], output: join(folder, 'small'), textsPerCall: 5, concurrency: 3 },
  ...{ retryDelayMs: 1, attempts: 10, pretrained: false, epochs: 1, threads: 1, tuning: { quantize: false } },
  onProgress: (event) => {
    if (event.type === 'teaching') say({ kept: event.answered });
  },
});
if (distilled.isErr()) throw distilled.error;
say({ summary: distilled.value.distillation });
await distilled.value.close();
