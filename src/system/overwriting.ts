import { realpath, stat } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { absolutePath, nearestExisting } from './files.js';

interface WhatIsRead {
  /** Files and folders. What is neither, such as the name of a model, is skipped. */
  readonly inputs: readonly (string | undefined)[];
  /** Folders that the output may replace, but not with a folder around them. Default: none. */
  readonly replaceable?: readonly (string | undefined)[];
}

/**
 * What is read and would be lost if `output` were written: even by way of a link, as a folder that is replaced with the input
 * in it, or as a file of a model. Undefined if nothing would be.
 */
export async function lostInput(
  output: string | undefined,
  { inputs, replaceable = [] }: WhatIsRead,
): Promise<string | undefined> {
  const target = await placeOf(output);
  if (target === undefined) return undefined;
  for (const input of inputs) {
    const source = await placeOf(input);
    if (source === undefined) continue;
    const isSame = source.device === target.device && source.inode === target.inode;
    const isModelFile = isWithin(target.path, source.path) && MODEL_FILE.test(target.path);
    if (isSame || isWithin(source.path, target.path) || isModelFile) return input;
  }
  for (const folder of replaceable) {
    const source = await placeOf(folder);
    if (source !== undefined && isWithin(source.path, target.path)) return folder;
  }
  return undefined;
}

const MODEL_FILE = /\.(?:json|safetensors|onnx)$/i;

interface Place {
  readonly path: string;
  readonly device: bigint;
  readonly inode: bigint;
}

/** Undefined for what is neither a file nor a folder. */
async function placeOf(path: string | undefined): Promise<Place | undefined> {
  if (path === undefined) return undefined;
  try {
    const real = await realpath(absolutePath(path));
    const entry = await stat(real, { bigint: true });
    if (!entry.isFile() && !entry.isDirectory()) return undefined;
    return { path: real, device: entry.dev, inode: entry.ino };
  } catch {
    return undefined;
  }
}

function isWithin(inner: string, outer: string): boolean {
  return inner.startsWith(outer + sep);
}

/** Whether a path is that of a folder, or of something in it. Neither has to exist yet. */
export async function isInFolder(path: string, folder: string): Promise<boolean> {
  const [inner, outer] = [await realPlace(path), await realPlace(folder)];
  return inner === outer || isWithin(inner, outer);
}

async function realPlace(path: string): Promise<string> {
  const absolute = absolutePath(path);
  const existing = await nearestExisting(absolute);
  const real = await realpath(existing).catch(() => existing); // of a folder that can't be read
  return join(real, relative(existing, absolute));
}
