import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { ONNX_FILE, readConfig } from '../models/index.js';

/**
 * What a model takes in memory, by the size of its graph and lexical files: the runtime keeps weights as it read them and
 * once more as it computes with them, and memory for runs. Measured on the eleven models of the catalogue, to a fifth.
 */
const BYTES_A_BYTE = 2.5;
const FIXED_BYTES = 8 * 2 ** 20;

/** @param fileBytes of the graph and the files of the lexical expert. */
export function memoryOfModel(fileBytes: number): number {
  return Math.round(FIXED_BYTES + BYTES_A_BYTE * fileBytes);
}

/** How long a folder may take to be looked at; a disk that is slower is waited for when the model is loaded. */
const MEASURE_MS = 2000;

/** What a folder's model will take in memory; 0 where the folder can't be read, which loading it will tell. */
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
