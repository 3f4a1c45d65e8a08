/**
 * Makes a release ready and publishes it: checks versions, CHANGELOG.md and the working tree, packs and looks at both
 * tarballs, writes the list of what they are made of and the notes, and hands the tarballs to `npm publish --provenance`.
 * Everything lies in release/ afterwards. .github/workflows/release.yml runs it for a tag.
 * @param argv with `--dry-run`, npm says what it would publish, and nothing leaves the machine. Default: publishes.
 * @param argv with `--tag v1.2.3`, the tag that the release is made of. Default: GITHUB_REF_NAME; a dry run needs none.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sectionsOf } from './changelog.mjs';
import { releaseProblems } from './release-problems.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const target = join(root, 'release');
const args = process.argv.slice(2);
const isDryRun = args.includes('--dry-run');
const isWindows = process.platform === 'win32';

const read = (...path) => readFileSync(join(root, ...path), 'utf8');
const json = (...path) => JSON.parse(read(...path));
const options = { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'], shell: isWindows };
const npm = (...words) => execFileSync(isWindows ? 'npm.cmd' : 'npm', words, { ...options, stdio: 'inherit' });
const node = (script, ...words) =>
  execFileSync(process.execPath, [join(root, 'scripts', script), ...words], { stdio: 'inherit' });

const library = json('package.json');
const changelog = read('CHANGELOG.md');
const tagged = args.includes('--tag') ? args[args.indexOf('--tag') + 1] : process.env.GITHUB_REF_NAME;
const problems = releaseProblems({
  library,
  models: json('models', 'package.json'),
  manifest: json('models', 'manifest.json'),
  lock: json('package-lock.json'),
  changelog,
  tag: isDryRun ? undefined : (tagged ?? 'none'),
  changedFiles: execFileSync('git', ['status', '--porcelain'], options).split('\n').filter(Boolean),
});
// A dry run may be tried before the release is due: it tells what is missing, and goes on.
for (const problem of problems) console.error(`${isDryRun ? 'not ready' : 'release'}: ${problem}`);
if (problems.length > 0 && !isDryRun) process.exit(1);

rmSync(target, { recursive: true, force: true });
mkdirSync(target);
node('pack.mjs', target);
node('sbom.mjs', join(target, 'sbom.cdx.json'));
writeFileSync(join(target, 'notes.md'), `${sectionsOf(changelog)[0]?.notes}\n`);
// The models first: an application that installs the new library finds the models that it names.
const tarballs = readdirSync(target).filter((name) => name.endsWith('.tgz'));
const order = tarballs.sort((a, b) => Number(b.includes('-models-')) - Number(a.includes('-models-')));
const how = isDryRun ? ['--dry-run'] : ['--provenance'];
for (const tarball of order) npm('publish', join(target, tarball), '--access', 'public', ...how);
