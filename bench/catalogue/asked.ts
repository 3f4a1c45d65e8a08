import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { catalogueDirectory } from '../../models/index.js';
import { recipesNamed } from '../../models/recipes/catalogue/models/index.js';
import type { Recipe } from '../../models/recipes/catalogue/recipe.js';

/** What the command line of a bench of the catalogue asks for. */
export interface Asked {
  /** The folder that holds every dataset. */
  readonly datasets: string;
  readonly catalogue: string;
  /** Whether figures are stored beside each model. */
  readonly write: boolean;
  /** Of the models that are in the catalogue, all if none was named; others are only mentioned. */
  readonly recipes: readonly Recipe[];
}

/** Reads `<datasets folder> [name …] [--write] [--catalogue <folder>]`; ends the process where the folder is missing. */
export function asked(name: string): Asked {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      catalogue: { type: 'string', default: catalogueDirectory },
      write: { type: 'boolean', default: false },
    },
  });
  const [datasets, ...names] = positionals;
  if (datasets === undefined) {
    console.error(`give the folder of the datasets: npm run bench -- ${name} <datasets folder> [name …]`);
    process.exit(2);
  }
  const { catalogue, write } = values;
  const recipes = recipesNamed(names.length === 0 ? ['all'] : names).filter(({ name }) => {
    const isThere = existsSync(join(catalogue, name));
    if (!isThere) console.log(`${name}: not in ${catalogue}`);
    return isThere;
  });
  return { datasets, catalogue, write, recipes };
}
