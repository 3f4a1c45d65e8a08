import { expect, it } from 'vitest';
import { MemoryLimitError, ModelFolderError } from '../../src/contract/errors.js';

it('a message about a model folder stays readable, however long the names in its files are', () => {
  const { message, reason } = new ModelFolderError('config.json', `label ${'x'.repeat(5000)} is no label`);
  expect(reason).toHaveLength(5018);
  expect(message).toBe(`config.json: label ${'x'.repeat(994)} …`);
});

it('about memory never names the limit as what is needed', () => {
  const { message } = new MemoryLimitError('the model', 1024 * 2 ** 20 + 1, 1024 * 2 ** 20 + 0.5);
  expect(message).toContain('about 1,025 MiB of memory, but the limit is 1,024 MiB (`memoryLimit`)');
});
