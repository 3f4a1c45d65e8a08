import { constants } from 'node:fs';
import { type FileHandle, open, realpath, stat } from 'node:fs/promises';
import { join, sep } from 'node:path';

/** Files of a folder that a stranger filled: their names stay inside it, and they are files. */

/** Longest name of a file within a folder, its own folders included. */
const MAX_NAME_CHARACTERS = 1024;
/** Drives and NTFS streams have a colon, Windows' separator is a backslash. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is refused.
const REFUSED_CHARACTERS = /[\u0000-\u001f\\:*?"<>|]/;
/** What Windows takes for a device, with any extension. */
const DEVICE = /^(?:con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³])(?:\.|$)/i;

/** Whether a name, with `/` between its parts, can only mean a file inside the folder, on every platform. */
export function isInnerName(name: string): boolean {
  if (name.length > MAX_NAME_CHARACTERS || REFUSED_CHARACTERS.test(name)) return false;
  return name
    .split('/')
    .every((part) => part !== '' && !/[. ]$/.test(part) && !part.startsWith(' ') && !DEVICE.test(part));
}

/** A file that may be read. */
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
export async function fileWithin(directory: string, name: string, maxBytes: number): Promise<InnerFile> {
  if (!isInnerName(name))
    throw new Error(`${JSON.stringify(name)} is not the name of a file inside the folder`);
  const [path, root] = await Promise.all([
    realpath(join(directory, ...name.split('/'))),
    realpath(directory),
  ]);
  if (![root, ...blobsBeside(root)].some((place) => path.startsWith(place + sep))) {
    throw new Error('it is a link that leads out of the folder; put the file itself there');
  }
  const found = await stat(path);
  if (!found.isFile()) throw new Error('it is not a file');
  checkSize(found.size, maxBytes);
  return { path, bytes: found.size };
}

/** The content of a file of a folder. @throws as {@link fileWithin}. */
export async function readWithin(directory: string, name: string, maxBytes: number): Promise<Buffer> {
  const { path } = await fileWithin(directory, name, maxBytes);
  // What was a file a moment ago may be a pipe by now, for whose writer an open would wait.
  const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    const found = await file.stat();
    if (!found.isFile()) throw new Error('it is not a file');
    checkSize(found.size, maxBytes);
    return await firstBytes(file, found.size);
  } finally {
    await file.close();
  }
}

/** At most this many bytes, even if the file grows. */
async function firstBytes(file: FileHandle, bytes: number): Promise<Buffer> {
  const content = Buffer.allocUnsafeSlow(bytes);
  let read = 0;
  while (read < bytes) {
    const { bytesRead } = await file.read(content, read, bytes - read, read);
    if (bytesRead === 0) break;
    read += bytesRead;
  }
  return content.subarray(0, read);
}

function checkSize(bytes: number, maxBytes: number): void {
  if (bytes > maxBytes) throw new Error(`it has ${bytes} bytes; at most ${maxBytes} are read`);
}

/** A snapshot's files are links to the blobs of its repository: `<repository>/snapshots/<commit>`. */
function blobsBeside(root: string): string[] {
  const parts = root.split(sep);
  const at = parts.lastIndexOf('snapshots');
  return at > 0 && at < parts.length - 1 ? [[...parts.slice(0, at), 'blobs'].join(sep)] : [];
}
