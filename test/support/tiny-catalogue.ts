import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { smallModel } from './small-models.js';

/** Three labels of a tiny classifier. */
export type Labels = readonly [string, string, string];

/**
 * A folder with tiny classifiers by name, which differ in their labels alone: the same scores under other names.
 * @param parent an empty directory.
 */
export async function tinyCatalogue(parent: string, models: Readonly<Record<string, Labels>>): Promise<string> {
  const built = await smallModel('classifier of first tokens', join(parent, 'built'));
  const catalogue = join(parent, 'catalogue');
  for (const [name, labels] of Object.entries(models)) {
    const directory = join(catalogue, name);
    await mkdir(directory, { recursive: true });
    await cp(built, directory, { recursive: true });
    await relabel(join(directory, 'config.json'), labels);
  }
  await rm(built, { recursive: true });
  return catalogue;
}

async function relabel(path: string, labels: Labels): Promise<void> {
  const config = JSON.parse(await readFile(path, 'utf8'));
  const byId = Object.fromEntries(labels.entries());
  const ids = Object.fromEntries(labels.map((label, id) => [label, id]));
  const orchard = { ...config.orchard, labels };
  await writeFile(path, JSON.stringify({ ...config, id2label: byId, label2id: ids, orchard }));
}
