import { join, sep } from 'node:path';
import { failedWith, isPresent, namesIn } from '../files/index.js';
import { isListed, type KeyRange, mayBeginListed } from './listing.js';
import { type RecordPlace, readRecord } from './record-file.js';
import { directoryOfPrefix, parseRecordName, pathOfKey } from './record-path.js';

/** How many directories are read at once, at most. */
const MAX_TOGETHER = 16;

/** A record's file with its key as `text`, or a directory with the common beginning of its keys. */
interface Entry {
  readonly path: string;
  readonly text: string;
  readonly isFile: boolean;
  /** False if the file has not been seen. */
  readonly isSure?: boolean;
}

/**
 * The first records of a range in a collection, in the order of the range. Reads only directories that may
 * have some of them: first one, then as many at once as probably have the missing ones, going by what the
 * earlier ones had.
 */
export async function findRecords(
  collection: string,
  range: KeyRange,
  limit: number,
): Promise<RecordPlace[]> {
  const { prefix = '' } = range;
  const { path, beginning } = directoryOfPrefix(prefix);
  const start: Entry[] = [{ path: join(collection, path), text: beginning, isFile: false }];
  if (prefix !== '' && beginning === prefix) {
    start.push({ path: join(collection, pathOfKey(prefix)), text: prefix, isFile: true, isSure: false });
  }
  const files = await firstFiles(start, range, limit);
  return files.map(({ text, path }) => ({ key: text, path }));
}

async function firstFiles(entries: readonly Entry[], range: KeyRange, limit: number): Promise<Entry[]> {
  const asked = entries.filter(({ text, isFile }) =>
    isFile ? isListed(text, range) : mayBeginListed(text, range),
  );
  asked.sort(range.reverse ? (a, b) => inKeyOrder(b, a) : inKeyOrder);
  const found: Entry[] = [];
  for (let next = 0, together = 1; next < asked.length && found.length < limit; ) {
    const missing = limit - found.length;
    const group = asked.slice(next, next + together);
    const files = await Promise.all(
      group.map(async (entry) => {
        if (!entry.isFile) return firstFiles(await entriesIn(entry), range, missing);
        return entry.isSure === false && !(await isPresent(entry.path)) ? [] : [entry];
      }),
    );
    for (const file of files.flat()) if (found.length < limit) found.push(file);
    next += group.length;
    const likely = found.length === 0 ? 2 * together : ((limit - found.length) * next) / found.length;
    together = Math.min(Math.ceil(likely), MAX_TOGETHER);
  }
  return found;
}

/** A key comes before the longer ones that begin with it. */
function inKeyOrder(a: Entry, b: Entry): number {
  if (a.text === b.text) return a.isFile ? -1 : 1;
  return a.text < b.text ? -1 : 1;
}

async function entriesIn({ path: directory, text: before }: Entry): Promise<Entry[]> {
  const names = await namesIn(directory).catch((thrown: unknown) => {
    if (failedWith(thrown, 'ENOTDIR')) return []; // a foreign file
    throw thrown;
  });
  const entries: Entry[] = [];
  for (const name of names) {
    const parsed = parseRecordName(name, before);
    if (parsed === undefined) continue;
    const path = directory + sep + name;
    const { isFile, piece } = parsed;
    const text = piece === undefined ? (await readRecord(path))?.key : before + piece;
    if (text !== undefined) entries.push({ path, text, isFile });
  }
  return entries;
}
