import type { BackboneSource } from './backbone-files.js';

/**
 * Writes a folder that answers every text with its vector: the mean of the token states of an encoder, of unit length. It
 * is loaded and run as models are.
 * @param source a backbone, or a trained model's folder.
 * @throws ModelFolderError for a folder that has no encoder, StorageError
 */
export async function writeSentenceEncoder(source: BackboneSource, directory: string): Promise<void> {
  // A program that only asks models has no need of what writes them.
  const { exportSentenceEncoder } = await import('./export-sentence-encoder.js');
  await exportSentenceEncoder(source, directory);
}
