import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { roomProblems } from '../scripts/check-rooms.mjs';
import { temporaryDirectory } from './support/temporary-directory.js';

/** What scripts/check-rooms.mjs refuses, on a small repository. */

const list = { ROOMS: [['cli'], ['jobs', 'models'], ['files']], ENTRIES: ['index'], OUTSIDE: ['bench'] };

/** Keeps every rule. */
const sound = {
  'src/index.ts': "export { run } from './cli/index.js';\n",
  'src/random.ts': 'export const random = 4;\n',
  'src/cli/index.ts': "export { run } from './run.js';\n",
  'src/cli/run.ts': [
    "import { type Job, queue as jobQueue } from '../jobs/index.js';",
    "import { random } from '../random.js';",
    "const { load } = await import('../models/index.js');",
    'export const run = (job: Job) => jobQueue(job, load, random);',
  ].join('\n'),
  'src/jobs/index.ts': "export {\n  type Job,\n  queue,\n} from './queue.js';\n",
  'src/jobs/queue.ts': "import { write } from '../files/index.js';\nexport const queue = write;\n",
  'src/models/index.ts': "export { load } from './load.js';\nexport type { Model } from './load.js';\n",
  'src/models/load.ts': 'export const load = 1;\n',
  'src/files/index.ts': "export { write } from './write.js';\n",
  'src/files/write.ts': 'export const write = 1;\n',
  'bench/speed.ts': "import type { Model } from '../src/models/index.js';\nimport { run } from '../src/index.js';\n",
};

function problemsWith(changed: Readonly<Record<string, string>>): string[] {
  const root = temporaryDirectory();
  for (const [file, text] of Object.entries({ ...sound, ...changed })) {
    mkdirSync(join(root, dirname(file)), { recursive: true });
    writeFileSync(join(root, file), text);
  }
  return roomProblems(root, list);
}

describe('the imports of rooms', () => {
  it('may point downward, through an index', () => {
    expect(problemsWith({})).toEqual([]);
  });

  it.each([
    [
      'to a higher room, as in a cycle',
      {
        'src/files/write.ts': "// first\nimport { queue } from '../jobs/index.js';\nexport const write = queue;",
      },
      /^src\/files\/write\.ts:2: jobs\/ is above files\/ .* a lower room$/,
    ],
    [
      'to a room on the same line',
      { 'src/models/load.ts': "export const load = (await import('../jobs/index.js')).queue;" },
      /^src\/models\/load\.ts:1: jobs\/ is on the same line as models\//,
    ],
    [
      'past an index',
      { 'src/jobs/queue.ts': "import { write } from '../files/write.js';\nimport '../files/index.js';" },
      /^src\/jobs\/queue\.ts:1: enters files\/ through src\/files\/write\.ts; import from its index\.js/,
    ],
    [
      'past an index, from a bench',
      { 'bench/time.ts': "import {\n  write,\n} from '../src/files/write.js';" },
      /^bench\/time\.ts:1: enters files\/ through/,
    ],
    [
      'of an entry',
      { 'src/files/write.ts': "export { run as write } from '../index.js';" },
      /^src\/files\/write\.ts:1: imports an entry of the package/,
    ],
    [
      'from a file below all rooms',
      { 'src/random.ts': "import { write } from './files/index.js';\nexport const random = write;" },
      /^src\/random\.ts:1: lies below all rooms but imports files\//,
    ],
  ])('may not point %s', (_, changed, problem) => {
    expect(problemsWith(changed)[0]).toMatch(problem);
  });
});

describe('an index', () => {
  it('exports only what others use', () => {
    const index = "export { write } from './write.js';\nexport { write as put } from './write.js';\n";
    expect(problemsWith({ 'src/files/index.ts': index })).toEqual([
      'src/files/index.ts:2: nothing outside the room uses put; remove the export',
    ]);
  });

  it('lists its names', () => {
    expect(problemsWith({ 'src/files/index.ts': "export * from './write.js';\n" })).toEqual([
      'src/files/index.ts:1: exports everything of a file; list the names that others use',
    ]);
  });
});

it('finds a folder that is not in the list', () => {
  expect(problemsWith({ 'src/attic/index.ts': '' })).toEqual([
    'src/attic: has no place in scripts/rooms.mjs; add it to a line of ROOMS',
  ]);
});
