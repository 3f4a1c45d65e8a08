/**
 * Checks what comes with the package: that each dependency has a reason and its licence in docs/dependencies.md, that all
 * packages have licences which allow their use here, that nobody has put in an install script or something that the lock
 * file can't vouch for, and that no advisory is known. Says so and goes on where the registry tells no advisories.
 * @param argv the folder of package-lock.json and docs/, by default this repository; --without-advisories asks no registry
 */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { productionPackages } from './production-packages.mjs';

/** Licences, by their SPDX names, that ask for no more than a notice. */
const ALLOWED = ['0BSD', 'Apache-2.0', 'BlueOak-1.0.0', 'BSD-2-Clause', 'BSD-3-Clause', 'CC0-1.0', 'ISC', 'MIT'];

/** Packages with scripts that run at installation, which ours never need; docs/dependencies.md says what they do. */
const KNOWN_INSTALL_SCRIPTS = ['onnxruntime-node'];

const AUDIT_TIMEOUT_MS = 60_000;

const [given] = process.argv.slice(2).filter((argument) => !argument.startsWith('--'));
const root = given ?? dirname(dirname(fileURLToPath(import.meta.url)));
const read = (...path) => readFileSync(join(root, ...path), 'utf8');
const lock = JSON.parse(read('package-lock.json'));
const packages = productionPackages(lock);

const problems = [
  ...[...packages.values()].flatMap(problemsOf),
  ...reasonProblems(lock.packages[''].dependencies, read('docs', 'dependencies.md')),
  ...(process.argv.includes('--without-advisories') ? [] : await advisories()),
];
for (const problem of problems) console.error(problem);
if (problems.length > 0) process.exitCode = 1;
else console.log(`${packages.size} packages come with Orchard; their licences allow it`);

function problemsOf({ name, version, licence, integrity, hasInstallScript }) {
  const found = [];
  if (!isAllowed(licence)) found.push(`has the licence ${licence}; allowed are ${ALLOWED.join(', ')}`);
  if (hasInstallScript && !KNOWN_INSTALL_SCRIPTS.includes(name)) found.push('runs a script at installation');
  if (integrity === undefined) found.push('has no checksum in package-lock.json');
  return found.map((problem) => `${name} ${version} ${problem}`);
}

/** One of the licences that may be chosen is allowed. What is more than a choice is for a person to judge. */
function isAllowed(licence) {
  const choices = licence.replace(/^\((.*)\)$/, '$1').split(' OR ');
  return choices.some((choice) => ALLOWED.includes(choice));
}

/** Each dependency has a row in a table that says what it is for, and its licence. */
function reasonProblems(dependencies, page) {
  const rows = page.split('\n').map((line) => line.split('|').map((cell) => cell.trim()));
  return Object.keys(dependencies).flatMap((name) => {
    const [, , reason, licence] = rows.find(([, first = '']) => first.split(', ').includes(name)) ?? [];
    const expected = packages.get(`node_modules/${name}`)?.licence;
    if (reason && licence === expected) return [];
    return [`docs/dependencies.md has no row that says what ${name} is for and that its licence is ${expected}`];
  });
}

/** Known advisories about these packages; none if the registry doesn't tell. */
async function advisories() {
  const { vulnerabilities } = await audit();
  if (vulnerabilities === undefined) {
    console.log('advisories were not checked: the registry tells none');
    return [];
  }
  const found = Object.values(vulnerabilities).filter(({ nodes }) => nodes.some((path) => packages.has(path)));
  return found.flatMap(({ name, via }) =>
    via
      .filter((advisory) => typeof advisory === 'object')
      .map(({ severity, title, url }) => `${name}: ${title} (${severity}), ${url}`),
  );
}

/** What npm says about every package of the lock file; it fails where there are advisories, and where there is no answer. */
async function audit() {
  const isWindows = process.platform === 'win32';
  const options = { cwd: root, timeout: AUDIT_TIMEOUT_MS, shell: isWindows, maxBuffer: 2 ** 26 };
  const { stdout } = await promisify(execFile)(
    isWindows ? 'npm.cmd' : 'npm',
    ['audit', '--json', '--package-lock-only', '--fetch-retries=0'],
    options,
  ).catch((failure) => failure);
  try {
    return JSON.parse(stdout);
  } catch {
    return {};
  }
}
