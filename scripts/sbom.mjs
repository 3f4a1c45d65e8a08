/**
 * Writes what the package is made of as a CycloneDX file, for a release.
 * @param argv.2 where to. Default: sbom.cdx.json in this repository.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { productionPackages } from './production-packages.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const file = process.argv[2] ?? join(root, 'sbom.cdx.json');
const isWindows = process.platform === 'win32';
const { stdout, status } = spawnSync(
  isWindows ? 'npm.cmd' : 'npm',
  ['sbom', '--package-lock-only', '--sbom-format', 'cyclonedx'],
  { cwd: root, encoding: 'utf8', maxBuffer: 2 ** 26, shell: isWindows, stdio: ['ignore', 'pipe', 'inherit'] },
);
if (status !== 0) process.exit(status ?? 1);

const bom = JSON.parse(stdout);
const { name, version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const packages = productionPackages(JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')));
const kept = new Set([...packages.values()].map((each) => `${each.name}@${each.version}`));
const own = `${name}@${version}`;

// npm calls the package by the name of its folder.
bom.metadata.component.name = name;
bom.components = bom.components.filter((component) => kept.has(component['bom-ref']));
bom.dependencies = bom.dependencies
  .filter(({ ref }) => ref === own || kept.has(ref))
  .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((each) => kept.has(each)) }));
writeFileSync(file, `${JSON.stringify(bom, undefined, 2)}\n`);
console.log(`${bom.components.length} packages in ${file}`);
