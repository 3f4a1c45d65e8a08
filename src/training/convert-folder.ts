import type { WEIGHT_FORMS } from '../contract/index.js';
import type { BackboneSource } from './backbone-files.js';

/** The precision of the weights of a copy. */
export type CopiedWeights = (typeof WEIGHT_FORMS)[number];

/**
 * Fills an empty folder with a copy of a model.
 * @throws ModelFolderError for a model that lacks what the copy needs; nothing was written then.
 */
export async function convertFolder(directory: string, output: string, weights: CopiedWeights): Promise<void> {
  // A program that only asks models has no need of what writes them.
  const { writeConvertedFolder } = await import('./write-converted-folder.js');
  await writeConvertedFolder(directory, output, weights);
}

/**
 * Writes a folder that answers every text with its vector: as modules.json defines it, or the mean of the token states of an
 * encoder, of unit length. It is loaded and run as models are.
 * @param source a backbone, or a trained model's folder.
 * @throws ModelFolderError for a folder that has no encoder or what can't be computed here, StorageError
 */
export async function writeSentenceEncoder(source: BackboneSource, directory: string): Promise<void> {
  const { exportSentenceEncoder } = await import('./write-encoder.js');
  await exportSentenceEncoder(source, directory);
}

/** Writes a folder that answers every pair of texts with the number of a cross-encoder. @throws ModelFolderError, StorageError */
export async function writePairEncoder(source: BackboneSource, directory: string): Promise<void> {
  const { exportPairEncoder } = await import('./write-encoder.js');
  await exportPairEncoder(source, directory);
}
