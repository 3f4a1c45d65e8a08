import { createHash, randomUUID } from 'node:crypto';
import {
  closeSync,
  constants,
  fstatSync,
  fsync,
  openSync,
  read,
  readdir as readdirOf,
  readFile as readFileOf,
  readFileSync,
  readlinkSync,
  readSync,
  realpathSync,
  rmSync,
  type Stats,
  statSync,
} from 'node:fs';
import {
  access,
  type FileHandle,
  link,
  lstat,
  mkdir,
  open,
  readdir,
  rename,
  rm,
  rmdir,
  stat,
  unlink,
} from 'node:fs/promises';
import { homedir, hostname, tmpdir } from 'node:os';
import { dirname, join, resolve, sep } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type * as z from 'zod';
import { isError, messageOf, missingPermission, StorageError, ValidationError } from '../contract/index.js';
import { isInnerName } from './inner-name.js';

/** The process id, its start in kernel ticks (Linux only), its machine, and a UUID. */
const OWNED = /^(\d+)\.(\d*)\.([0-9a-f]{16})\.[0-9a-f-]{36}$/;

/** When this process started, which tells it from a later one with the same id, and where: see {@link hostId}. */
let own: { readonly started: string; readonly host: string } | undefined;

function ownProcess() {
  own ??= { started: linuxStatus(process.pid)?.started ?? '', host: hostId() };
  return own;
}

/** The machine and, on Linux, the process id namespace (so the container) and the boot in which ids are valid. */
function hostId(): string {
  const place = `${hostname()} ${pidNamespace()} ${bootId()}`.trim();
  return createHash('sha256').update(place).digest('hex').slice(0, 16);
}

/** A name that says which process uses it, so that another one can tell when it is no longer needed. */
export function ownedName(): string {
  const { started, host } = ownProcess();
  return `${process.pid}.${started}.${host}.${randomUUID()}`;
}

/** The state of the process that made a name; undefined if {@link ownedName} made no such name. */
export function ownerOf(name: string): 'living' | 'ended' | 'elsewhere' | undefined {
  const [, pid, started = '', host] = OWNED.exec(name) ?? [];
  if (pid === undefined) return undefined;
  if (host !== ownProcess().host) return 'elsewhere';
  return hasEnded(Number(pid), started) ? 'ended' : 'living';
}

/** Ends the process that made a name, if it is certainly the same one; waits at most `patienceMs` for its end. */
export async function endOwnerOf(name: string, patienceMs: number): Promise<void> {
  const [, pid, started] = OWNED.exec(name) ?? [];
  if (Number(pid) === process.pid) return;
  if (started !== '' && ownerOf(name) === 'living') killIfThere(Number(pid));
  const since = performance.now();
  while (ownerOf(name) === 'living' && performance.now() - since < patienceMs) await delay(10);
}

function killIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // it has ended meanwhile, or is another user's
  }
}

function hasEnded(pid: number, started: string): boolean {
  if (!isRunning(pid)) return true;
  const status = linuxStatus(pid);
  return status !== undefined && (status.isOver || (started !== '' && status.started !== started));
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (thrown) {
    // EPERM: it runs, under another user.
    return !(isError(thrown) && 'code' in thrown && thrown.code === 'ESRCH');
  }
}

/**
 * From /proc/<pid>/stat (proc(5)): field 3 is the state, 20 the number of threads, 22 the start time. A zombie is over
 * once no other thread is left: until then, a system call of another thread may still take effect.
 */
function linuxStatus(pid: number): { started: string; isOver: boolean } | undefined {
  try {
    const line = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const fieldsFrom3 = line.slice(line.lastIndexOf(')') + 2).split(' ');
    const started = fieldsFrom3[22 - 3];
    const isOver = fieldsFrom3[0] === 'Z' && Number(fieldsFrom3[20 - 3]) <= 1;
    return started === undefined ? undefined : { started, isOver };
  } catch {
    return undefined;
  }
}

function pidNamespace(): string {
  try {
    return readlinkSync('/proc/self/ns/pid');
  } catch {
    return '';
  }
}

function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
  } catch {
    return '';
  }
}

const ON_WINDOWS = process.platform === 'win32';
/** Virus scanners and indexers keep files open for moments, in which Windows refuses to move or delete them. */
const WINDOWS_ATTEMPTS = 20;
const WINDOWS_PAUSE_MS = 50;

/** Listings read many small files, which takes half as long with these as with node:fs/promises. */
const readFile = promisify(readFileOf);
const readNames = promisify(readdirOf);
const flushDescriptor = promisify(fsync);

/** Flushes an open file to the medium. */
export async function flush(file: FileHandle): Promise<void> {
  // Yarn's Plug'n'Play has no `sync` of a FileHandle, and fs.fsync is off under `node --permission`.
  await (typeof file.sync === 'function' ? file.sync() : flushDescriptor(file.fd));
}

/** How often a change in a directory is tried that other processes keep removing. */
const MAX_ATTEMPTS = 100;

/**
 * A path as of the call: an application may change its working directory later. A `file:` URL becomes a path; a path that
 * begins with `~` stays as it is, since {@link HOME_HINT} has to be said.
 */
export function absolutePath(path: string): string {
  if (/^file:/i.test(path) && URL.canParse(path)) return fileURLToPath(path);
  return beginsAtHome(path) ? path : resolve(path);
}

/** Whether it begins with `~`, which shells expand and Node.js doesn't. */
export function beginsAtHome(path: string): boolean {
  return /^~(?:[/\\]|$)/.test(path);
}

/** A path of an environment variable, where no shell may have expanded `~`. @throws Error if the user has no home */
export function fromHome(path: string): string {
  return beginsAtHome(path) ? join(homedir(), path.slice(1)) : path;
}

/** As {@link absolutePath}. @throws ValidationError for what is no path, or begins with `~`, at a place of the input */
export function requirePath(path: string, at: string): string {
  const given: unknown = path;
  if (typeof given !== 'string' || given === '') {
    const msg = given instanceof URL ? 'give a path, not a URL object; give its href' : 'give a path';
    throw new ValidationError([{ loc: [at], msg, type: 'path' }]);
  }
  if (beginsAtHome(path)) throw new ValidationError([{ loc: [at], msg: HOME_HINT, type: 'path' }]);
  return absolutePath(path);
}

/** Where a path begins with `~`. */
export const HOME_HINT = "only a shell expands ~; give the full path, such as join(os.homedir(), 'models')";

/** True for the error of a system call that failed with one of these codes, such as `ENOENT`. */
export function failedWith(thrown: unknown, ...codes: string[]): boolean {
  return isError(thrown) && 'code' in thrown && codes.some((code) => code === thrown.code);
}

/** Creates a directory and its missing parents, all of which then survive a power cut. */
export async function ensureDirectory(path: string): Promise<void> {
  const firstNew = await mkdir(path, { recursive: true });
  if (firstNew === undefined) return;
  for (let made = path; made.length >= firstNew.length; made = dirname(made)) await flushDirectory(dirname(made));
}

/** Writes a new file and flushes it to the medium; {@link flushDirectory} does that for its directory entry. */
export async function writeFlushed(path: string, content: string | Uint8Array, mode?: number): Promise<void> {
  const file = await open(path, 'wx', mode);
  try {
    await file.writeFile(content);
    await flush(file);
  } finally {
    await file.close();
  }
}

/** Flushes every file and directory of a tree to the medium. */
export async function flushTree(directory: string): Promise<void> {
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) await flushTree(path);
    else if (entry.isFile()) await flushFile(path);
  }
  await flushDirectory(directory);
}

/** Flushes the entries of a directory (what was created, renamed or removed in it) to the medium. */
export async function flushDirectory(path: string): Promise<void> {
  if (ON_WINDOWS) return; // Windows has no such call: NTFS journals its directories
  try {
    await flushFile(path);
  } catch (thrown) {
    if (!failedWith(thrown, 'EINVAL', 'ENOTSUP')) throw thrown; // some network file systems can't
  }
}

async function flushFile(path: string): Promise<void> {
  const file = await open(path, ON_WINDOWS ? 'r+' : 'r'); // Windows flushes only what is open for writing
  try {
    await flush(file);
  } finally {
    await file.close();
  }
}

/** Renames a file or directory; an existing file with the new name is replaced. */
export function move(from: string, to: string): Promise<void> {
  return onceFree(() => rename(from, to));
}

/** @returns false if there is nothing to move. */
export function moveIfPresent(from: string, to: string): Promise<boolean> {
  return onceFree(() => unless('ENOENT', rename(from, to)));
}

/** Gives a file a second name. @returns false if that name is taken. */
export function linkIfAbsent(existing: string, path: string): Promise<boolean> {
  return onceFree(() => unless('EEXIST', link(existing, path)));
}

/** Deletes a file. @returns false if there is none. */
export function unlinkIfPresent(path: string): Promise<boolean> {
  return onceFree(() => unless('ENOENT', unlink(path)));
}

/** The folder itself, or the lowest above it that exists. */
export async function nearestExisting(directory: string): Promise<string> {
  const isThere = await stat(directory).then(
    () => true,
    (thrown: unknown) => !failedWith(thrown, 'ENOENT', 'ENOTDIR'),
  );
  return isThere || dirname(directory) === directory ? directory : nearestExisting(dirname(directory));
}

/**
 * The flag that lets Node.js write a file or folder, if its permissions refused that. A draft next to it is written first,
 * so it names the folder that both are in.
 */
export async function missingWriteFlag(path: string, thrown: unknown): Promise<string | undefined> {
  const flag = missingPermission(thrown);
  return flag === '--allow-fs-write' ? `${flag}=${await nearestExisting(dirname(path))}` : undefined;
}

/** That a file or folder can't be written, by the name that the application gave it. */
export async function writeFailure(path: string, thrown: unknown): Promise<StorageError> {
  const flag = await missingWriteFlag(path, thrown);
  const reason = flag ? `Node.js runs with --permission; add ${flag}` : messageOf(thrown);
  return new StorageError(`writing ${path}: ${reason}`, { cause: thrown });
}

/** Deletes something that is no longer in use; what can't be deleted now is left to the next sweep. */
export async function deleteUnseen(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true, maxRetries: 2 }).catch(() => undefined);
}

/** The text of a file; undefined if there is none. */
export async function readTextIfPresent(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (thrown) {
    if (failedWith(thrown, 'ENOENT')) return undefined;
    throw thrown;
  }
}

/** The names in a directory; none if there is no such directory. */
export async function namesIn(directory: string): Promise<string[]> {
  try {
    return await readNames(directory);
  } catch (thrown) {
    if (failedWith(thrown, 'ENOENT')) return [];
    throw thrown;
  }
}

/** @returns false if nothing has this name. */
export function isPresent(path: string): Promise<boolean> {
  return unless('ENOENT', access(path));
}

/** @returns true if the call succeeded, false if it failed with this code. */
async function unless(code: string, call: Promise<void>): Promise<boolean> {
  try {
    await call;
    return true;
  } catch (thrown) {
    if (failedWith(thrown, code)) return false;
    throw thrown;
  }
}

/** Makes a system call; on Windows, repeats it for a second while another process has the file open. */
async function onceFree<T>(call: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await call();
    } catch (thrown) {
      const mayPass = ON_WINDOWS && failedWith(thrown, 'EPERM', 'EACCES', 'EBUSY');
      if (!mayPass || attempt === WINDOWS_ATTEMPTS) throw thrown;
      await delay(WINDOWS_PAUSE_MS);
    }
  }
}

interface ReplaceOptions {
  /** Permissions of the file. Default: what the umask leaves of 0o666. */
  readonly mode?: number;
  /**
   * Where the content is written before it is renamed to the file, on the same file system. What a crash left
   * there is overwritten. Default: a new name in the same directory, so that there may be any number of writers.
   */
  readonly draft?: string;
}

/** Flushed and atomic: readers find the whole earlier or the whole new content, even after a crash. */
export async function replaceFile(
  path: string,
  content: string | Uint8Array,
  { mode, draft = `${path}.${randomUUID()}.draft` }: ReplaceOptions = {},
): Promise<void> {
  await ensureDirectory(dirname(path));
  await deleteUnseen(draft); // an existing one would keep its permissions
  try {
    await writeFlushed(draft, content, mode);
    await move(draft, path);
  } catch (thrown) {
    await deleteUnseen(draft);
    throw thrown;
  }
  await flushDirectory(dirname(path));
}

/**
 * Makes a change in a directory, which is created with its parents if it is missing; all of this then survives a power
 * cut. If {@link unlinkWithEmptyParents} removes the directory in between, the change is made again.
 */
export async function inDirectory(directory: string, change: () => Promise<void>): Promise<void> {
  let topmost = directory;
  for (let attempt = 1; ; attempt += 1) {
    try {
      const firstNew = await onceFree(() => mkdir(directory, { recursive: true }));
      if (firstNew !== undefined && firstNew.length <= topmost.length) topmost = dirname(firstNew);
      await change();
      break;
    } catch (thrown) {
      if (!failedWith(thrown, 'ENOENT') || attempt === MAX_ATTEMPTS) throw thrown;
    }
  }
  await Promise.all(directoriesUpTo(directory, topmost).map(flushIfPresent));
}

/** Deletes a file, and the empty directories above it up to `root`, which stays. @returns false if it is absent. */
export async function unlinkWithEmptyParents(path: string, root: string): Promise<boolean> {
  if (!(await unlinkIfPresent(path))) return false;
  let directory = dirname(path);
  while (directory !== root && (await removeIfEmpty(directory))) directory = dirname(directory);
  while (!(await flushIfPresent(directory))) directory = dirname(directory);
  return true;
}

function directoriesUpTo(directory: string, topmost: string): string[] {
  const path = [directory];
  for (let at = directory; at.length > topmost.length; ) {
    at = dirname(at);
    path.push(at);
  }
  return path;
}

/** @returns false if the directory no longer exists. */
async function flushIfPresent(directory: string): Promise<boolean> {
  try {
    await flushDirectory(directory);
    return true;
  } catch (thrown) {
    if (failedWith(thrown, 'ENOENT')) return false;
    throw thrown;
  }
}

/** @returns false if it stays. An empty one may stay on Windows, while a process reads it, which does no harm. */
async function removeIfEmpty(directory: string): Promise<boolean> {
  try {
    await rmdir(directory);
    return true;
  } catch {
    return false;
  }
}

/** The value of a JSON text; undefined if it isn't JSON or doesn't fit the schema. */
export function parseJson<S extends z.ZodType>(schema: S, text: string): z.infer<S> | undefined {
  try {
    return schema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/** Files of a folder that a stranger filled: their names stay inside it, and they are files. */

interface InnerFile {
  /** Without symbolic links. */
  readonly path: string;
  readonly bytes: number;
}

/**
 * Finds a file of a folder. Symbolic links may lead to other files of the folder and, if it is a snapshot of
 * the Hugging Face cache, to the blobs of its repository.
 * @param name as in {@link isInnerName}. @throws Error for a name or a link that leads outside, for anything that is not a
 * file and for a larger file; the file system's error.
 */
export function fileWithin(directory: string, name: string, maxBytes: number): InnerFile {
  if (!isInnerName(name)) throw new Error(`${JSON.stringify(name)} is not the name of a file inside the folder`);
  const path = realpathSync.native(join(directory, ...name.split('/')));
  const root = realpathSync.native(directory);
  if (![root, ...blobsBeside(root)].some((place) => path.startsWith(place + sep))) {
    throw new Error('it is a link to a place outside the folder; put the file itself there');
  }
  return { path, bytes: sizeOf(statSync(path), maxBytes) };
}

/** Files up to this size are read at once: to wait for another thread would take longer. */
const MAX_BYTES_AT_ONCE = 1024 * 1024;

/** The content of a file of a folder. @throws as {@link fileWithin}. */
export async function readWithin(directory: string, name: string, maxBytes: number): Promise<Buffer> {
  const { path } = fileWithin(directory, name, maxBytes);
  // What was a file a moment ago may be a pipe by now, for whose writer an open would wait.
  const file = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    const content = Buffer.allocUnsafeSlow(sizeOf(fstatSync(file), maxBytes));
    const isSmall = content.length <= MAX_BYTES_AT_ONCE;
    let known = 0;
    // At most this many bytes, even if the file grows.
    while (known < content.length) {
      const rest = content.length - known;
      const bytes = isSmall ? readSync(file, content, known, rest, known) : await readOn(file, content, known, rest);
      if (bytes === 0) break;
      known += bytes;
    }
    return content.subarray(0, known);
  } finally {
    closeSync(file);
  }
}

/** @returns the number of bytes read. */
function readOn(file: number, content: Buffer, at: number, length: number): Promise<number> {
  return new Promise((resolve, reject) => {
    read(file, content, at, length, at, (error, bytes) => (error ? reject(error) : resolve(bytes)));
  });
}

function sizeOf(found: Stats, maxBytes: number): number {
  if (!found.isFile()) throw new Error('it is not a file');
  if (found.size > maxBytes) throw new Error(`it has ${found.size} bytes; at most ${maxBytes} are read`);
  return found.size;
}

/** A snapshot's files are links to the blobs of its repository: `<repository>/snapshots/<commit>`. */
function blobsBeside(root: string): string[] {
  const parts = root.split(sep);
  const at = parts.lastIndexOf('snapshots');
  return at > 0 && at < parts.length - 1 ? [[...parts.slice(0, at), 'blobs'].join(sep)] : [];
}

/** Bytes of a file that are read, sent and kept together. */
export const CHUNK_BYTES = 1024 * 1024;

/** A file of a folder. */
export interface FileContent {
  /** Path inside the folder, with '/'. */
  readonly path: string;
  readonly size: number;
  /** As hexadecimal digits. */
  readonly sha256: string;
}

export interface FolderFile extends FileContent {
  /** In whole milliseconds since 1970. */
  readonly modifiedMs: number;
}

export class KnownHashes {
  readonly #known = new Map<string, { readonly stamp: string; readonly sha256: string }>();

  async of(path: string, stamp: string): Promise<string> {
    const known = this.#known.get(path);
    if (known?.stamp === stamp) return known.sha256;
    const sha256 = await hashOf(path);
    this.#known.set(path, { stamp, sha256 });
    return sha256;
  }
}

/** The files below a directory, in the order of their paths. Directories without files don't count. */
export async function filesIn(directory: string, hashes = new KnownHashes()): Promise<FolderFile[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const files: FolderFile[] = [];
  for (const entry of entries) {
    if (!entry.isFile()) continue;
    const absolute = join(entry.parentPath, entry.name);
    const path = absolute.slice(directory.length + 1).replaceAll(sep, '/');
    const { size, mtimeNs, ctimeNs, ino, mtimeMs } = await lstat(absolute, { bigint: true });
    const sha256 = await hashes.of(absolute, `${ino} ${size} ${mtimeNs} ${ctimeNs}`);
    files.push({ path, size: Number(size), sha256, modifiedMs: Number(mtimeMs) });
  }
  return files.sort(byPath);
}

/** The size of all files below a directory, also while files in it come and go. */
export async function bytesIn(directory: string): Promise<number> {
  const names = await readdir(directory, { recursive: true }).catch(() => []);
  const found = await Promise.all(names.map((name) => stat(join(directory, name)).catch(() => undefined)));
  return found.reduce((sum, each) => sum + (each?.isFile() ? each.size : 0), 0);
}

/** One hash, in hexadecimal digits, of the contents and names of all files. */
export function contentHash(files: readonly FileContent[]): string {
  const hash = createHash('sha256');
  for (const { path, size, sha256 } of files.toSorted(byPath)) hash.update(`${path}\0${size}\0${sha256}\n`);
  return hash.digest('hex');
}

/** The content of a file in chunks, each a buffer of its own. */
export async function* chunksOf(path: string): AsyncGenerator<Buffer, void, undefined> {
  const file = await open(path, 'r');
  try {
    for (;;) {
      const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
      const filled = await fill(chunk, (rest) => file.read(rest));
      if (filled > 0) yield chunk.subarray(0, filled);
      if (filled < CHUNK_BYTES) return;
    }
  } finally {
    await file.close();
  }
}

async function hashOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of chunksOf(path)) hash.update(chunk);
  return hash.digest('hex');
}

/** A read may give less than was asked for. @returns the bytes that there were. */
async function fill(chunk: Buffer, read: (rest: Buffer) => Promise<{ readonly bytesRead: number }>): Promise<number> {
  for (let filled = 0; ; ) {
    const { bytesRead } = await read(chunk.subarray(filled));
    filled += bytesRead;
    if (bytesRead === 0 || filled === chunk.length) return filled;
  }
}

function byPath(a: FileContent, b: FileContent): number {
  return a.path < b.path ? -1 : a.path > b.path ? 1 : 0;
}

const PREFIX = 'orchard-';
/** No write takes this long, so a file this old was left by a crash. */
const MAX_AGE_MS = 60 * 60 * 1000;

/** The directories that are not removed yet; the process removes them when it exits. */
const existing = new Set<string>();
let removesAtExit = false;
let sweeping: Promise<void> | undefined;

/** Where temporary files go where the system's temporary directory can't be written: on Linux, a disk in memory. */
const MEMORY_DISK = '/dev/shm';
let root: Promise<string> | undefined;

/** Whether `node --permission` lets this process write there, which `access` doesn't say. */
function isAllowed(path: string): boolean {
  // The types know no process without it.
  const { permission }: { permission?: typeof process.permission } = process;
  return permission?.has('fs.write', path) ?? true;
}

/** A directory for temporary files that can be written. @throws StorageError if there is none */
export function temporaryRoot(): Promise<string> {
  root ??= findRoot().catch((thrown: unknown) => {
    root = undefined;
    throw thrown;
  });
  return root;
}

async function findRoot(): Promise<string> {
  const [given, ...others] = [resolve(tmpdir()), ...(process.platform === 'linux' ? [MEMORY_DISK] : [])];
  const isWritable = (path: string) =>
    isAllowed(path) &&
    access(path, constants.W_OK | constants.X_OK).then(
      () => true,
      () => false,
    );
  for (const path of [given, ...others]) if (await isWritable(path)) return path;
  const variable = process.platform === 'win32' ? 'TEMP' : 'TMPDIR';
  throw new StorageError(
    `temporary files can't be written to ${given}; set the environment variable ${variable} to a writable folder`,
  );
}

/** A private directory for temporary files, created on first use. */
export class TemporaryDirectory {
  #path: Promise<string> | undefined;

  path(): Promise<string> {
    this.#path ??= make();
    return this.#path;
  }

  async remove(): Promise<void> {
    const path = await this.#path;
    if (path === undefined) return;
    this.#path = undefined;
    await rm(path, { recursive: true, force: true });
    existing.delete(path);
  }
}

async function make(): Promise<string> {
  const path = join(await temporaryRoot(), PREFIX + ownedName());
  await mkdir(path, { mode: 0o700 });
  existing.add(path);
  sweeping ??= sweep();
  await sweeping;
  if (!removesAtExit) {
    removesAtExit = true;
    process.once('exit', removeExisting);
  }
  return path;
}

/** Removes the directories of killed processes. Runs once in a process; what it can't remove does no harm. */
async function sweep(): Promise<void> {
  const directory = await temporaryRoot();
  const names = await namesIn(directory).catch(() => []);
  const left = names.filter((name) => name.startsWith(PREFIX) && ownerOf(name.slice(PREFIX.length)) === 'ended');
  await Promise.all(left.map((name) => deleteUnseen(join(directory, name))));
}

function removeExisting(): void {
  for (const path of existing) rmSync(path, { recursive: true, force: true });
}

/** Deletes temporary files of ended processes; those of other machines, which can't be seen, after an hour. */
export async function sweepTemporaryFiles(directory: string): Promise<void> {
  const names = await namesIn(directory);
  await Promise.allSettled(names.map((name) => deleteIfLeft(name, join(directory, name))));
}

async function deleteIfLeft(name: string, path: string): Promise<void> {
  const owner = ownerOf(name);
  if (owner === 'living') return;
  if (owner === 'ended' || Date.now() - (await stat(path)).mtimeMs > MAX_AGE_MS) await deleteUnseen(path);
}
