/**
 * Checks who imports what against the list in rooms.mjs. `npm run lint` runs it; it prints `file:line: what is wrong; what
 * to do` for each problem. docs/house.md explains the rules. No cycle of rooms can exist where every import points downward.
 * @param argv with `--without-exports`, does not look for unused exports
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, posix, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ENTRIES, OUTSIDE, ROOMS } from './rooms.mjs';

/** `import { a, type B as C } from './x.js'` and `export * from './x.js'`; formatted code has no other form of them. */
const FROM = /^(import|export)\s+(?:type\s+)?([\w\s{},*$]+?)\s+from\s+'(\.[^']+)'/gm;
/** `const { a, b } = await import('./x.js')`, `(await import('./x.js')).a`, `typeof import('./x.js')`. */
const CALL = /(?:\{([^{}]*)\}\s*=\s*await\s+)?\bimport\(\s*'(\.[^']+)'\s*\)(?:\)?\.(\w+))?/g;
const ALL = '*';
/** Folders that may enter a room anywhere; what they import through an index counts as used. */
const TESTS = ['test', 'testing'];

/**
 * @param root the repository
 * @param list what rooms.mjs exports
 * @param options.exports whether to look for names that an index exports and nobody uses
 * @returns a line for each problem; none if all imports keep the rules
 */
export function roomProblems(root, list, { exports = true } = {}) {
  const { ROOMS: rooms, ENTRIES: entries, OUTSIDE: outside } = list;
  const imports = ['src', ...outside].flatMap((folder) => importsBelow(root, folder));
  const level = (room) => rooms.findIndex((line) => line.includes(room));
  const isEntry = (file) => entries.some((entry) => file === `src/${entry}.ts`);

  /** What is wrong with one import; undefined if nothing is. */
  function problemOf({ file, target }) {
    const [from, to] = [roomOf(file), roomOf(target)];
    if (!target.startsWith('src/') || (to !== undefined && from === to)) return undefined;
    if (isEntry(target))
      return file.startsWith('src/')
        ? 'imports an entry of the package; import from the room that has the code'
        : undefined;
    if (to === undefined) return undefined;
    if (file.startsWith('src/') && !isEntry(file)) {
      if (from === undefined)
        return `lies below all rooms but imports ${to}/; move the file into a room, or the code down`;
      if (level(to) <= level(from)) {
        const place = level(to) === level(from) ? 'on the same line as' : 'above';
        return `${to}/ is ${place} ${from}/ in scripts/rooms.mjs; imports point downward only, so move what both need into a lower room`;
      }
    }
    if (target === `src/${to}/index.ts`) return undefined;
    return `enters ${to}/ through ${target}; import from its index.js, and export there what is missing`;
  }

  const folders = readdirSync(join(root, 'src'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);
  return [
    ...folders
      .filter((folder) => level(folder) === -1)
      .map((folder) => `src/${folder}: has no place in scripts/rooms.mjs; add it to a line of ROOMS`),
    ...rooms
      .flat()
      .filter((room) => !folders.includes(room))
      .map((room) => `scripts/rooms.mjs: there is no room src/${room}; remove it from ROOMS`),
    ...imports.flatMap((each) => {
      const problem = problemOf(each);
      return problem === undefined ? [] : [`${each.file}:${each.line}: ${problem}`];
    }),
    ...(exports
      ? unusedExports(root, folders, [...imports, ...TESTS.flatMap((folder) => importsBelow(root, folder))])
      : []),
  ];
}

/** Names that the index of a room exports and that nothing outside the room imports. */
function unusedExports(root, folders, imports) {
  return folders.flatMap((room) => {
    const index = `src/${room}/index.ts`;
    if (!existsSync(join(root, index))) return [`src/${room}: has no index.ts; export there what others use`];
    const used = imports.filter(({ file, target }) => target === index && roomOf(file) !== room);
    const names = new Set(used.flatMap((each) => each.names));
    if (names.has(ALL)) return [];
    const exported = imports.filter(({ file, isExport }) => file === index && isExport);
    return exported.flatMap(({ line, exports }) =>
      exports
        .filter((name) => !names.has(name))
        .map((name) =>
          name === ALL
            ? `${index}:${line}: exports everything of a file; list the names that others use`
            : `${index}:${line}: nothing outside the room uses ${name}; remove the export`,
        ),
    );
  });
}

/** The room of a file of src/; undefined for a file beside the rooms or outside src/. */
function roomOf(file) {
  const [src, room, ...rest] = file.split('/');
  return src === 'src' && rest.length > 0 ? room : undefined;
}

/** The relative imports of a file: whence, in which line, of what; `exports` are the names that it passes on. */
function importsOf(root, file) {
  const text = readFileSync(join(root, file), 'utf8');
  const found = (match, specifier, names, exports) => ({
    file,
    line: text.slice(0, match.index).split('\n').length,
    target: posix.join(posix.dirname(file), specifier).replace(/\.js$/, '.ts'),
    isExport: match[1] === 'export',
    names,
    exports,
  });
  return [
    ...[...text.matchAll(FROM)].map((match) => {
      const pairs = namesIn(match[2]);
      return found(
        match,
        match[3],
        pairs.map(([name]) => name),
        pairs.map(([, renamed]) => renamed),
      );
    }),
    ...[...text.matchAll(CALL)].map((match) => {
      const names = match[1] === undefined ? [match[3] ?? ALL] : namesIn(match[1]).map(([name]) => name);
      return found(match, match[2], names, []);
    }),
  ];
}

/** `{ a, type B as C }` as [['a', 'a'], ['B', 'C']]. */
function namesIn(clause) {
  if (clause.includes(ALL)) return [[ALL, ALL]];
  return clause
    .replace(/[{}]/g, '')
    .split(',')
    .map((part) => part.trim().replace(/^type /, ''))
    .filter((part) => part !== '')
    .map((part) => part.split(/\s+as\s+|:\s*/))
    .map(([name, renamed = name]) => [name, renamed]);
}

/** The relative imports of all files below a folder; none if there is no such folder. */
function importsBelow(root, folder) {
  if (!existsSync(join(root, folder))) return [];
  return sourcesBelow(root, folder).flatMap((file) => importsOf(root, file));
}

/** TypeScript files below a folder, with '/' on every system. */
function sourcesBelow(root, folder) {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)).split(sep).join('/'))
    .sort();
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const root = dirname(dirname(fileURLToPath(import.meta.url)));
  const exports = !process.argv.includes('--without-exports');
  const problems = roomProblems(root, { ROOMS, ENTRIES, OUTSIDE }, { exports });
  for (const problem of problems) console.error(problem);
  if (problems.length > 0) process.exitCode = 1;
}
