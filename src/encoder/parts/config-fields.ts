/** Fields that the config.json of several architectures have, and what may be in them. */
import * as z from 'zod';

/** Numbers of a hidden state; the widest BERT has 1,024. */
const MAX_WIDTH = 65_536;

/** A size is known before its weights are: none is so large that lists of that length take up memory. */
const size = (most: number) => z.int().positive().max(most);

export const vocabularyField = size(2 ** 24);
export const widthField = size(MAX_WIDTH);
export const layersField = size(1024);
export const headsField = size(MAX_WIDTH);
export const innerWidthField = size(16 * MAX_WIDTH);
export const positionsField = size(2 ** 20);
export const typesField = size(256);
export const tokenIdField = z
  .int()
  .nonnegative()
  .max(2 ** 24);
export const probabilityField = z.number().min(0).max(1);
export const epsilonField = z.number().positive();
export const deviationField = z.number().positive();
/** Dropout of a head; absent or null: that of the hidden states. */
export const headDropoutField = probabilityField.nullable().exactOptional();

/** Why heads can't share a width evenly; undefined if they can. */
export function reasonAgainstHeads(
  widthName: string,
  width: number,
  headsName: string,
  heads: number,
): string | undefined {
  if (width % heads === 0) return undefined;
  return `${widthName} ${width} is not a multiple of ${headsName} ${heads}`;
}
