import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Encoder, initialize } from '../../../../src/encoder/index.js';
import type { Weights } from '../../../../src/engine/index.js';
import { volume } from '../../../../src/graph/index.js';
import { Random } from '../../../../src/system/index.js';
import { readEmbeddings, WORD_EMBEDDINGS } from '../embeddings/make-embeddings.js';
import { SEED } from '../settings.js';
import { readSmallEncoder } from '../student/grow-student.js';
import { readStudent } from '../student/student-checkpoint.js';
import type { WorkFolder } from '../work-folder.js';

/** What an encoder can start from: weights by BertModel's names; all others are random. */
const starts: Readonly<Record<string, (work: WorkFolder, width: number) => Promise<Weights>>> = {
  random: async () => new Map(),
  embeddings: async (work, width) => new Map([[WORD_EMBEDDINGS, readEmbeddings(work, width)]]),
  checkpoint: (work) => studentWeights(work.checkpoint),
  annealed: (work) => studentWeights(work.annealed),
};

async function studentWeights(file: string): Promise<Weights> {
  const { weights } = await readStudent(file);
  return new Map([...weights].map(([name, { values }]) => [name, values]));
}

/**
 * @param start one of the names above, or the folder of a finished backbone.
 * @throws Error if there is no such start.
 */
export async function startingWeights(work: WorkFolder, start: string, width: number): Promise<Weights> {
  const weights = await starts[start]?.(work, width);
  if (weights !== undefined) return weights;
  if (existsSync(join(start, 'config.json'))) return readSmallEncoder(start).weights;
  throw new Error(`no start ${start}: there are ${Object.keys(starts).join(', ')}, and folders of backbones`);
}

/** All of an encoder's weights: those given, and random ones for the rest. @throws Error if one has another shape. */
export function completeWeights(encoder: Encoder, given: Weights): Weights {
  const random = Random.fromSeed(SEED);
  return new Map(
    encoder.parameters('').map((spec) => {
      const drawn = new Float32Array(volume(spec.shape));
      initialize(spec, drawn, () => random.normal());
      const values = given.get(spec.name) ?? drawn;
      if (values.length !== drawn.length)
        throw new Error(`${spec.name} has ${values.length} numbers, not ${drawn.length}: give the student's shape`);
      return [spec.name, values];
    }),
  );
}
