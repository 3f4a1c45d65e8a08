/** Which weights a copy has. */
export type CopiedWeights = 'float32' | 'int8';

/**
 * Fills an empty folder with a copy of a model.
 * @throws ModelFolderError for a model that lacks what the copy needs; nothing was written then.
 */
export async function convertFolder(directory: string, output: string, weights: CopiedWeights): Promise<void> {
  // A program that only asks models has no need of what writes them.
  const { writeConvertedFolder } = await import('./write-converted-folder.js');
  await writeConvertedFolder(directory, output, weights);
}
