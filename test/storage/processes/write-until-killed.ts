import { writeSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileStorage } from '../../../src/storage/index.js';
import { increment } from './increment.js';
import { FOLDER_FILES, roundText } from './round.js';

/**
 * `write-until-killed.ts <directory> <name>`: in rounds without end, increments the shared counter, rewrites
 * its own record and replaces its own folder; says `begin <round>` before and `end <round>` after each.
 */

const [directory = '', name = ''] = process.argv.slice(2);
const storage = fileStorage(directory);
const stored = await storage.read('rounds', name);
let version = stored?.version;

for (let round = Number(stored?.value ?? 0) + 1; ; round++) {
  writeSync(1, `begin ${round}\n`);
  await increment(storage);
  version = await storage.write('rounds', name, round, version);
  await storage.discardStaged(name);
  const staged = await storage.stageFolder(name);
  for (const file of FOLDER_FILES) await writeFile(join(staged, file), roundText(round));
  await storage.publishFolder(name);
  writeSync(1, `end ${round}\n`);
}
