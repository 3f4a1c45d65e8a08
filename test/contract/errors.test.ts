import { expect, it } from 'vitest';
import { ModelFolderError } from '../../src/contract/errors.js';

it('a message about a model folder stays readable, however long the names in its files are', () => {
  const { message, reason } = new ModelFolderError('config.json', `label ${'x'.repeat(5000)} is no label`);
  expect(reason).toHaveLength(5018);
  expect(message).toBe(`config.json: label ${'x'.repeat(994)} …`);
});
