import { execFile } from 'node:child_process';
import { cpSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { changelogProblems, sectionsOf } from '../../scripts/changelog.mjs';
import { type ReleaseState, releaseProblems } from '../../scripts/release-problems.mjs';
import { temporaryDirectory } from '../support/temporary-directory.js';

/** What stands in the way of a release, and that nothing is packed which was not built. */

const root = fileURLToPath(new URL('../..', import.meta.url));
const CHANGELOG = `# Changelog

## 0.2.0, 2026-03-01

- Second.
- Third.

## 0.1.0, 2026-02-01

- First.
`;

describe('a changelog', () => {
  it('is read by version, date and notes', () => {
    expect(sectionsOf(CHANGELOG)).toMatchObject([
      { version: '0.2.0', date: '2026-03-01', notes: '- Second.\n- Third.' },
      { version: '0.1.0', date: '2026-02-01', notes: '- First.' },
    ]);
    expect(changelogProblems(CHANGELOG, '0.2.0')).toEqual([]);
  });

  it.each([
    ['# Changelog\n', /no version/],
    [CHANGELOG.replace('0.2.0', '0.0.9'), /0\.0\.9 stands above 0\.1\.0/],
    [CHANGELOG.replace('0.1.0', '0.2.0'), /0\.2\.0 stands above 0\.2\.0/],
    [CHANGELOG.replace('2026-02-01', 'not yet released'), /0\.1\.0 stands below 0\.2\.0, so it needs a date/],
    [CHANGELOG.replace('2026-03-01', 'March'), /expected "## 1\.2\.3, 2026-01-31"/],
    [CHANGELOG.replace('- First.', ''), /0\.1\.0 says nothing/],
    [CHANGELOG.replace('0.2.0', '0.10.0'), /it begins with 0\.10\.0, but package\.json has 0\.2\.0/],
  ])('that is unsound is told: %#', (changelog, problem) => {
    expect(changelogProblems(changelog, '0.2.0').join('\n')).toMatch(problem);
  });

  it('of this repository is sound', () => {
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    expect(changelogProblems(readFileSync(join(root, 'CHANGELOG.md'), 'utf8'), version)).toEqual([]);
  });
});

describe('a release', () => {
  const repository = { type: 'git', url: 'git+https://example.org/ours.git' };
  const ready: ReleaseState = {
    library: { version: '0.2.0', repository, peerDependencies: { weights: '^0.1.3' } },
    models: { name: 'weights', version: '0.1.3', repository },
    manifest: { version: '0.1.3' },
    lock: { packages: { '': { version: '0.2.0' } } },
    changelog: CHANGELOG,
    tag: 'v0.2.0',
    changedFiles: [],
  };

  it('goes where all agrees', () => {
    expect(releaseProblems(ready)).toEqual([]);
  });

  it.each([
    [{ tag: 'v0.1.0' }, /the tag is v0\.1\.0, but the version v0\.2\.0/],
    [{ changelog: CHANGELOG.replace('2026-03-01', 'not yet released') }, /give it its date/],
    [
      { models: { ...ready.models, version: '0.2.0' } },
      /manifest\.json is of another version[\s\S]*asks for \^0\.1\.3/,
    ],
    [{ lock: { packages: { '': { version: '0.1.0' } } } }, /package-lock\.json is of another version/],
    [{ library: { ...ready.library, repository: undefined } }, /package\.json has no repository/],
    [{ changedFiles: [' M src/index.ts'] }, /in no commit: {2}M src\/index\.ts/],
  ])('does not go with %j', (changed, problem) => {
    expect(releaseProblems({ ...ready, ...changed }).join('\n')).toMatch(problem);
  });
});

describe('npm pack in a clone', () => {
  it('fails, and names the command that builds and packs', async () => {
    const clone = temporaryDirectory();
    for (const name of ['package.json', '.npmrc', 'README.md']) cpSync(join(root, name), join(clone, name));
    // npm hands its own settings down to what it starts; a user's shell has none of them.
    const own = Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name));
    const env = { ...Object.fromEntries(own), npm_config_cache: temporaryDirectory() };
    const packing = promisify(execFile)('npm', ['pack'], {
      cwd: clone,
      env,
      shell: process.platform === 'win32',
    });
    await expect(packing).rejects.toMatchObject({ stderr: expect.stringContaining('use-npm-run-pack') });
  });
});
