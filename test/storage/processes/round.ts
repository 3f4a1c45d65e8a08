/** The files of every folder that write-until-killed.ts publishes. */
export const FOLDER_FILES = ['config.json', 'model.bin', 'vocabulary.txt'];

/** The content of each file of a round; its length depends on the round, so a mixture of two shows. */
export function roundText(round: number): string {
  return `${round} `.repeat(5000 + (round % 7) * 3000);
}
