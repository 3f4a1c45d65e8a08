/**
 * Writes biome.layers.json, the linter's rules on who may import what, from rooms.mjs. With --check it writes nothing,
 * and fails where that file is not what it would write or a folder of src/ has no place in rooms.mjs.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ENTRIES, OUTSIDE, ROOMS } from './rooms.mjs';

/** How many folders deep below src/ a file may lie. Each depth has a rule, as its way out of the room is another. */
const MAX_DEPTH = 4;
const DOWNWARD = 'Imports point downward only, and enter a room through its index; see docs/house.md.';
const BY_INDEX = 'Another room is entered through its index; see docs/house.md.';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const output = join(root, 'biome.layers.json');
const overrides = [...rulesBesideRooms(), ...ROOMS.flatMap(rulesInRooms), ...rulesOutside()];
const lines = overrides.map((override) => JSON.stringify(override)).join(',\n');
const expected = `{ "overrides": [\n${lines}\n]}\n`;

const problems = misplaced();
if (!process.argv.includes('--check')) writeFileSync(output, expected);
else if (readFileSync(output, 'utf8') !== expected)
  problems.push('biome.layers.json is stale: npm run layers');
for (const problem of problems) console.error(problem);
if (problems.length > 0) process.exitCode = 1;

/** For the rooms of one line. */
function rulesInRooms(rooms, line) {
  const below = ROOMS.slice(line + 1).flat();
  return Array.from({ length: MAX_DEPTH }, (_, index) => {
    const [src, files] = ['../'.repeat(index + 1), '/*'.repeat(index + 1)];
    return rule(
      rooms.map((room) => `src/${room}${files}`),
      [
        ...[`${src}*/**`, ...ENTRIES.map((entry) => `${src}${entry}.js`)],
        ...below.map((room) => `!${src}${room}/index.js`),
      ],
      DOWNWARD,
    );
  });
}

/** The entries may import every room; what else lies beside the rooms, none. */
function rulesBesideRooms() {
  const entries = ENTRIES.map((entry) => `src/${entry}.ts`);
  return [
    rule(['src/*'], ['./*/**', ...ENTRIES.map((entry) => `./${entry}.js`)], DOWNWARD),
    rule(entries, ['./*/**', '!./*/index.js'], BY_INDEX),
  ];
}

function rulesOutside() {
  // Random numbers are no room: every room may use them, and so may these.
  const doors = ['*/index', 'random', ...ENTRIES].map((file) => `!**/src/${file}.js`);
  return Object.entries(OUTSIDE).map(([folder, level]) =>
    rule([`${folder}/**`], ['**/src/**', ...doors], BY_INDEX, level),
  );
}

/** Refuses imports in files. @param group what is refused, and after "!" what is not. */
function rule(includes, group, message, level = 'error') {
  const noRestrictedImports = { level, options: { patterns: [{ group, message }] } };
  return { includes, linter: { rules: { style: { noRestrictedImports } } } };
}

/** Folders without a place, and files too deep. */
function misplaced() {
  const entries = readdirSync(join(root, 'src'), { recursive: true, withFileTypes: true });
  return entries.flatMap((entry) => {
    const place = join(entry.parentPath, entry.name)
      .slice(join(root, 'src', sep).length)
      .split(sep);
    if (entry.isFile() && place.length > MAX_DEPTH + 1) return [`src/${place.join('/')} lies too deep`];
    if (entry.isFile() || place.length > 1 || ROOMS.flat().includes(entry.name)) return [];
    return [`src/${entry.name} has no place in scripts/rooms.mjs`];
  });
}
