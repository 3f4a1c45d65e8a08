import { expect, it, onTestFinished } from 'vitest';
import { warnOnce } from '../../src/system/index.js';

it('warns once of each code', async () => {
  const warnings: Error[] = [];
  const note = (warning: Error) => warnings.push(warning);
  process.on('warning', note);
  onTestFinished(() => void process.off('warning', note));
  warnOnce('the first', 'TEST_ONE');
  warnOnce('the first again', 'TEST_ONE');
  warnOnce('the second', 'TEST_TWO');
  await new Promise((resolve) => setImmediate(resolve)); // Node emits warnings with the next tick
  const ours = warnings.filter(({ name }) => name === 'OrchardWarning');
  expect(ours).toMatchObject([
    { message: 'the first', code: 'TEST_ONE' },
    { message: 'the second', code: 'TEST_TWO' },
  ]);
});
