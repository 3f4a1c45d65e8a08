import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, it } from 'vitest';
import { folderModels, hubModels } from '../../src/models/index.js';
import { modelLoaderContract } from '../../src/testing.js';
import type { ModelFiles } from '../../testing/model-loader-contract.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { fakeHub } from './fake-hub.js';

function temporaryFolderModels(models: ModelFiles) {
  const root = temporaryDirectory();
  for (const [model, files] of Object.entries(models)) {
    for (const [file, content] of Object.entries(files)) {
      const path = join(root, model, file);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, content);
    }
  }
  return folderModels(root);
}

async function localHubModels(models: ModelFiles) {
  const { endpoint } = await fakeHub(models);
  return hubModels({ endpoint, cacheDirectory: temporaryDirectory(), offline: false });
}

describe.each([
  ['folderModels', temporaryFolderModels],
  ['hubModels', localHubModels],
])('%s', (_, create) => {
  for (const { name, run } of modelLoaderContract(create)) it(name, run);
});
