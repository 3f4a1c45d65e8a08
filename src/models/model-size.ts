import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { ONNX_FILE } from './folder-files.js';
import { readConfig } from './model-config.js';

/**
 * A model's memory from the size of its graph and lexical files: the runtime keeps weights as read and once more as it
 * computes with them, and memory for runs. Measured on the eleven models of the catalogue, within a fifth.
 */
const BYTES_A_BYTE = 2.5;
const FIXED_BYTES = 8 * 2 ** 20;

/** @param fileBytes of the graph and the files of the lexical expert. */
export function memoryOfModel(fileBytes: number): number {
  return Math.round(FIXED_BYTES + BYTES_A_BYTE * fileBytes);
}

/** Longest time to read a folder's sizes; on a slower disk, the estimate is 0. */
const MEASURE_MS = 2000;

/** Estimated memory of a folder's model; 0 if the folder can't be read, which loading reports. */
export async function memoryOfFolder(directory: string): Promise<number> {
  const stop = new AbortController();
  const late = setTimeout(MEASURE_MS, 0, { signal: stop.signal, ref: false }).catch(() => 0);
  try {
    return await Promise.race([measured(directory), late]);
  } finally {
    stop.abort();
  }
}

async function measured(directory: string): Promise<number> {
  try {
    const { orchard } = await readConfig(directory);
    const names = [orchard.graph ?? ONNX_FILE, ...orchard.files];
    const sizes = await Promise.all(names.map(async (name) => (await stat(join(directory, name))).size));
    return memoryOfModel(sizes.reduce((sum, size) => sum + size, 0));
  } catch {
    return 0;
  }
}
