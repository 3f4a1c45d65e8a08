import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { modelFolderConfig } from '../../src/models/index.js';
import { failureOf } from '../support/outcomes.js';

const catalogue = fileURLToPath(new URL('../../models/catalogue/', import.meta.url));
const read = (name: string) => JSON.parse(readFileSync(`${catalogue}${name}/config.json`, 'utf8'));
const names = readdirSync(catalogue);
const config = read(names[0] ?? '');

describe('the config.json of a model folder', () => {
  it.each(names)('of %s is read as it is', (name) => {
    expect(modelFolderConfig(read(name), 'config.json')).toEqual(read(name));
  });

  it.each([
    ['orchard', { ...config, orchard: undefined }],
    ['orchard.format', { ...config, orchard: { ...config.orchard, format: 2 } }],
    ['orchard.size', { ...config, orchard: { ...config.orchard, size: 'giant' } }],
    ['orchard.labels', { ...config, orchard: { ...config.orchard, labels: 'joy' } }],
    ['orchard.max_tokens', { ...config, orchard: { ...config.orchard, max_tokens: 0 } }],
    ['orchard.blend.encoder', { ...config, orchard: { ...config.orchard, blend: { encoder: -1 } } }],
    [
      'orchard.licence.commercial_use',
      { ...config, orchard: { ...config.orchard, licence: { commercial_use: 'no', reasons: [] } } },
    ],
    ['orchard.later', { ...config, orchard: { ...config.orchard, later: 1 } }],
    ['label2id.joy', { ...config, label2id: { joy: 'first' } }],
    ['problem_type', { ...config, problem_type: 'regression' }],
  ])('is refused where %s is wrong', async (field, wrong) => {
    const error = await failureOf('model_folder', () => modelFolderConfig(wrong, 'x/config.json'));
    expect(error.message).toMatch(new RegExp(`^x/config\\.json: ${field.replaceAll('.', '\\.')}: expected `));
  });
});
