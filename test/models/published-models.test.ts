import { execFileSync } from 'node:child_process';
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { describe, expect, it, vi } from 'vitest';
import { listModels, pullModel, verifyModel } from '../../src/models/index.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

/** What this version of the library knows of the published models, and the public calls about them. */

const root = fileURLToPath(new URL('../..', import.meta.url));
const models = join(root, 'models');
const NAME = 'sentiment-classification';

describe('models/manifest.json', () => {
  it('is of the files in models/: where it is not, npm run models:manifest', () => {
    execFileSync(process.execPath, [join(root, 'scripts', 'model-manifest.mjs'), '--check']);
  });
});

describe('listModels', () => {
  it('names every model and backbone with its size, and where it is', async () => {
    const listed = (await listModels())._unsafeUnwrap();
    const names = (kind: string) => listed.filter((each) => each.kind === kind).map(({ name }) => name);
    expect(names('pretrained model')).toEqual(readdirSync(join(models, 'catalogue')));
    expect(names('backbone')).toEqual(readdirSync(join(models, 'backbones')));
    for (const { bytes, directory = '', source } of listed) {
      expect(source).toBe('package');
      expect(readdirSync(directory)).toContain('README.md');
      expect(bytes).toBeGreaterThan(6e6);
    }
  });
});

describe('what the data of a published model allow', () => {
  it('is told by lists, wherever the model lies, as its config.json has it', async () => {
    const listed = (await listModels())._unsafeUnwrap();
    expect(listed.some(({ licence }) => licence?.commercial_use === false)).toBe(true);
    for (const { directory = '', licence } of listed) {
      const { orchard = {} } = JSON.parse(readFileSync(join(directory, 'config.json'), 'utf8'));
      expect(licence).toEqual(orchard.licence);
    }
  });

  it('comes with a model that is pulled or verified', async () => {
    const directory = temporaryDirectory();
    const reasons = expect.arrayContaining([expect.stringContaining('Stanford Sentiment')]);
    const licence = { commercial_use: false, reasons };
    const pulled = (await pullModel(NAME, { from: models, directory }))._unsafeUnwrap();
    expect(pulled).toMatchObject({ licence });
    expect((await verifyModel(NAME))._unsafeUnwrap()).toMatchObject({ licence });
  });
});

describe('pullModel and verifyModel', () => {
  it('bring one model from a path, and find it whole', async () => {
    const directory = temporaryDirectory();
    const pulled = (await pullModel(NAME, { from: models, directory }))._unsafeUnwrap();
    expect(readdirSync(join(pulled.directory, '..'))).toEqual([NAME]);
    expect(pulled.directory.startsWith(directory)).toBe(true);
    const original = readFileSync(join(models, 'catalogue', NAME, 'lexical.safetensors'));
    expect(readFileSync(join(pulled.directory, 'lexical.safetensors')).equals(original)).toBe(true);
  });

  it('take the address from ORCHARD_MODELS_FROM, and the place from ORCHARD_MODELS_DIRECTORY', async () => {
    const directory = temporaryDirectory();
    vi.stubEnv('ORCHARD_MODELS_FROM', pathToFileURL(models).href);
    vi.stubEnv('ORCHARD_MODELS_DIRECTORY', directory);
    try {
      const pulled = (await pullModel('english-mini'))._unsafeUnwrap();
      expect(pulled).toMatchObject({ kind: 'backbone', name: 'english-mini' });
      expect(pulled.directory).toMatch(/[/\\]backbones[/\\]english-mini$/);
      expect(pulled.directory.startsWith(directory)).toBe(true);
    } finally {
      vi.unstubAllEnvs();
    }
  });

  it('name what a damaged folder lacks and has otherwise', async () => {
    const verified = (await verifyModel(NAME))._unsafeUnwrap();
    expect(verified.problems).toEqual([]);
    const place = temporaryDirectory();
    const { verify, directory } = await damageable(place);
    rmSync(join(directory, 'data.json'));
    writeFileSync(join(directory, 'figures.json'), '{}');
    expect(await verify()).toEqual([
      { file: 'data.json', problem: 'is missing' },
      { file: 'figures.json', problem: expect.stringMatching(/^has 2 bytes, not \d+$/) },
    ]);
  });

  it('fail with what is published, or what a place to pull from looks like', async () => {
    const error = (await pullModel('sentiment-clasification'))._unsafeUnwrapErr();
    expect(error).toMatchObject({ code: 'not_found' });
    expect(error.message).toContain(`did you mean "${NAME}"? the published models are `);
    const wrong = await pullModel(NAME, { from: 'ftp://example.com/models' });
    expect(wrong._unsafeUnwrapErr()).toMatchObject({ code: 'validation', problems: [{ loc: ['from'] }] });
  });
});

/** A copy of a model as the published files' comparison reads it. */
async function damageable(place: string) {
  const { publishedModel } = await import('../../src/models/catalogue-models.js');
  const { problemsOf } = await import('../../src/models/pull-model.js');
  const directory = join(place, NAME);
  cpSync(join(models, 'catalogue', NAME), directory, { recursive: true });
  const model = await publishedModel(NAME);
  return { directory, verify: () => problemsOf(model, directory) };
}
