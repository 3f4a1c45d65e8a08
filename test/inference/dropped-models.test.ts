import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';

/** Models that an application forgets to close, as development servers do that run a module again and again. */

const PROGRAM = `
  const { loadModel } = await import(${JSON.stringify(new URL('../../dist/index.js', import.meta.url).href)});
  const models = 30;
  let before = 0;
  for (let number = 0; number < models; number += 1) {
    await (async () => {
      const model = (await loadModel('sentiment-classification'))._unsafeUnwrap();
      (await model.predict('good'))._unsafeUnwrap();
    })();
    gc();
    await new Promise((resolve) => setTimeout(resolve, 20));
    if (number === 5) before = process.memoryUsage.rss();
  }
  const kept = (await loadModel('sentiment-classification'))._unsafeUnwrap();
  gc();
  await new Promise((resolve) => setTimeout(resolve, 20));
  const answered = (await kept.predict('good')).isOk();
  console.log(JSON.stringify({ answered, grownMiB: (process.memoryUsage.rss() - before) / 2 ** 20 }));
  process.exit();`;

it('are freed when nothing refers to them any more; one that is in use is not', () => {
  const output = execFileSync(process.execPath, ['--expose-gc', '--input-type=module', '--eval', PROGRAM], {
    encoding: 'utf8',
  });
  const { answered, grownMiB } = JSON.parse(output);
  expect(answered).toBe(true);
  // Each takes 33 MiB: 25 that stay take more than 800.
  expect(grownMiB).toBeLessThan(300);
});
