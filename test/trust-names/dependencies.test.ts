import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { BUNDLED } from '../../scripts/production-packages.mjs';
import { temporaryDirectory } from '../support/temporary-directory.js';

/** What npm run check says about the packages that come with ours, and what a release says that it is made of. */

const root = fileURLToPath(new URL('../..', import.meta.url));

/** A registry that answers like this. @returns its URL. */
async function registry(answer: RequestListener): Promise<string> {
  const server = createServer(answer);
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  onTestFinished(() => void server.close());
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/`;
}

/** As registries answer that have no advisories. */
const withoutAdvisories = () =>
  registry((_, response) => {
    response.writeHead(405).end();
  });

interface Said {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** @param url of the registry that npm asks. Default: none that could answer. */
async function run(script: string, args: readonly string[], url = 'http://127.0.0.1:9/'): Promise<Said> {
  const env = { ...process.env, npm_config_registry: url, npm_config_cache: temporaryDirectory() };
  const command = [join(root, 'scripts', script), ...args];
  return promisify(execFile)(process.execPath, command, { env }).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    ({ code, stdout, stderr }: Said) => ({ code, stdout, stderr }),
  );
}

type Entry = Readonly<Record<string, unknown>>;
const sound = { version: '1.0.0', license: 'MIT', integrity: 'sha512-AAAA' };

/** A package that depends on `one`, which depends on `two`. */
function aPackage({
  one = {},
  two = {},
  row = '| one | something | MIT |',
}: {
  one?: Entry;
  two?: Entry;
  row?: string;
}) {
  const folder = temporaryDirectory();
  const own = { name: 'ours', version: '1.0.0', dependencies: { one: '1' }, devDependencies: { four: '1' } };
  const packages = {
    '': own,
    'node_modules/one': { ...sound, dependencies: { two: '1' }, ...one },
    'node_modules/one/node_modules/two': { ...sound, ...two },
    'node_modules/two': { ...sound, license: 'GPL-3.0', dev: true },
    'node_modules/four': { ...sound, license: 'GPL-3.0', dev: true, dependencies: { two: '1' } },
  };
  mkdirSync(join(folder, 'docs'));
  const write = (name: string, text: string) => writeFileSync(join(folder, name), text);
  write('package.json', JSON.stringify(own));
  write('package-lock.json', JSON.stringify({ name: 'ours', version: '1.0.0', lockfileVersion: 3, packages }));
  write('docs/dependencies.md', row);
  return folder;
}

describe('npm run check:dependencies', () => {
  it('is content with what this package brings along, also where the registry tells no advisories', async () => {
    const { code, stdout, stderr } = await run('check-dependencies.mjs', [], await withoutAdvisories());
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain('advisories were not checked');
    expect(stdout).toMatch(/^\d+ packages come with Orchard/m);
  });

  it.each([
    [
      'a licence that asks for more',
      { one: { license: 'GPL-3.0' }, row: '| one | something | GPL-3.0 |' },
      /^one 1\.0\.0 has the licence GPL-3\.0; allowed are/m,
    ],
    [
      'a licence of what a dependency needs',
      { two: { license: 'SSPL-1.0' } },
      /^two 1\.0\.0 has the licence SSPL-1\.0/m,
    ],
    ['a licence that comes on top of another', { two: { license: '(MIT AND GPL-3.0)' } }, /^two .*licence \(MIT AND/m],
    ['no licence', { two: { license: undefined } }, /^two 1\.0\.0 has the licence none/m],
    ['a script at installation', { two: { hasInstallScript: true } }, /^two 1\.0\.0 runs a script at installation/m],
    ['no checksum', { one: { integrity: undefined } }, /^one 1\.0\.0 has no checksum/m],
    [
      'no reason',
      { row: '| other | something | MIT |' },
      /docs\/dependencies\.md has no row that says what one is for/,
    ],
    ['another licence than its row says', { row: '| one | x | ISC |' }, /no row .* that its licence is MIT/],
  ])('refuses %s', async (_, parts, message) => {
    const { code, stderr } = await run('check-dependencies.mjs', [aPackage(parts), '--without-advisories']);
    expect(stderr).toMatch(message);
    expect(stderr.trim().split('\n')).toHaveLength(1);
    expect(code).toBe(1);
  });

  it('takes a choice of licences, and does not ask what only development needs', async () => {
    const folder = aPackage({ two: { license: '(GPL-3.0 OR MIT)' } });
    const { code, stderr } = await run('check-dependencies.mjs', [folder, '--without-advisories']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  });

  it('names what is known against a package, and is silent about those of development', async () => {
    const advisory = (id: number, title: string) => {
      const url = `https://example.com/${id}`;
      return [{ id, url, title, severity: 'high', vulnerable_versions: '<2', cwe: [], cvss: { score: 7 } }];
    };
    const url = await registry((request, response) => {
      const isAsked = request.url?.endsWith('/advisories/bulk');
      response.writeHead(isAsked ? 200 : 404, { 'content-type': 'application/json' });
      response.end(isAsked ? JSON.stringify({ two: advisory(1, 'Leaks'), four: advisory(2, 'Burns') }) : '{}');
    });
    const { code, stderr } = await run('check-dependencies.mjs', [aPackage({})], url);
    expect(stderr).toBe('two: Leaks (high), https://example.com/1\n');
    expect(code).toBe(1);
  });
});

describe('what the build puts into dist', () => {
  const dist = join(root, 'dist');
  const sources = readdirSync(dist)
    .filter((name) => name.endsWith('.map'))
    .flatMap((name): string[] => JSON.parse(readFileSync(join(dist, name), 'utf8')).sources);
  const packages = new Set(sources.flatMap((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? []));

  it('is named with its licence, and in the list of what is included', () => {
    const notices = readFileSync(join(root, 'licences.txt'), 'utf8');
    for (const name of packages) expect(notices).toContain(`\n${name}: Copyright`);
    expect(packages.size).toBeGreaterThan(2);
    // The first two are dependencies besides: the declarations name them.
    expect(['zod', 'neverthrow', ...BUNDLED]).toEqual(expect.arrayContaining([...packages]));
  });
});

describe('scripts/sbom.mjs', () => {
  it('lists what is included with its version, licence and checksum, and nothing else', async () => {
    const file = join(temporaryDirectory(), 'sbom.json');
    expect((await run('sbom.mjs', [file], 'http://127.0.0.1:9/')).code).toBe(0);
    const { metadata, components } = JSON.parse(readFileSync(file, 'utf8'));
    expect(metadata.component.name).toBe('orchard-nlp');
    const names: string[] = components.map(({ name }: { readonly name: string }) => name);
    expect(names).toEqual(expect.arrayContaining(['onnxruntime-node', 'onnxruntime-common', 'zod', 'uuid', 'uplot']));
    expect(names.filter((name) => ['vitest', 'typescript', '@tensorflow/tfjs'].includes(name))).toEqual([]);
    for (const component of components) {
      expect(component).toMatchObject({ version: expect.any(String), licenses: [expect.anything()] });
      expect(component.hashes).toHaveLength(1);
    }
    expect(JSON.stringify(components)).not.toContain(root);
  });
});
