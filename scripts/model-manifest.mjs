/**
 * Writes models/manifest.json: each model and backbone that the package `orchard-nlp-models` publishes, with the size and
 * the SHA-256 of each file, and what the data of each allow where that is less than everything. The library carries it,
 * lists by it, and checks by it what it pulls. With --check, writes nothing and fails where the file is out of date.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const models = join(dirname(dirname(fileURLToPath(import.meta.url))), 'models');
const target = join(models, 'manifest.json');

/** Paths with '/', in the order of their characters, so that the file is the same on every machine. */
function filesBelow(folder, prefix = '') {
  return readdirSync(folder, { withFileTypes: true })
    .flatMap((entry) =>
      entry.isDirectory()
        ? filesBelow(join(folder, entry.name), `${prefix}${entry.name}/`)
        : [`${prefix}${entry.name}`],
    )
    .sort();
}

function described(folder) {
  return filesBelow(folder).map((path) => {
    const content = readFileSync(join(folder, path));
    return { path, bytes: content.length, sha256: createHash('sha256').update(content).digest('hex') };
  });
}

function modelsIn(kind) {
  const names = readdirSync(join(models, kind)).sort();
  return Object.fromEntries(names.map((name) => [name, described(join(models, kind, name))]));
}

/** By model, `orchard.licence` of its config.json; models that have none are absent. */
function licencesIn(kind) {
  const entries = readdirSync(join(models, kind))
    .sort()
    .map((name) => {
      const config = JSON.parse(readFileSync(join(models, kind, name, 'config.json'), 'utf8'));
      return [name, config.orchard?.licence];
    });
  return Object.fromEntries(entries.filter(([, licence]) => licence !== undefined));
}

const { version } = JSON.parse(readFileSync(join(models, 'package.json'), 'utf8'));
const manifest = {
  version,
  catalogue: modelsIn('catalogue'),
  backbones: modelsIn('backbones'),
  licences: { ...licencesIn('catalogue'), ...licencesIn('backbones') },
};
// One line for each file, so that a change of a model can be read.
const text = `${JSON.stringify(manifest).replace(/([[{,])(?=\{"path"|"\w[\w-]*":[[{])/g, '$1\n')}\n`;
if (!process.argv.includes('--check')) writeFileSync(target, text);
else if (readFileSync(target, 'utf8') !== text) {
  console.error('models/manifest.json is not of the files in models/: npm run models:manifest');
  process.exitCode = 1;
}
