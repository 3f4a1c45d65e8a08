import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';

/** Which graph answers; `encoder` is float32 without the lexical expert. */
export type Precision = 'float32' | 'int8' | 'encoder';

export const QUANTIZED_GRAPH = 'onnx/model_quantized.onnx';

const configSchema = z.looseObject({
  orchard: z.looseObject({
    family: z.string(),
    files: z.array(z.string()),
    blend: z.looseObject({}).optional(),
  }),
});
type Orchard = z.infer<typeof configSchema>['orchard'];

/** Says in a model folder's config.json which graph answers and what the lexical expert counts. */
export async function choosePrecision(directory: string, precision: Precision): Promise<void> {
  const file = join(directory, 'config.json');
  const { orchard, ...config } = configSchema.parse(JSON.parse(await readFile(file, 'utf8')));
  const isInt8 = precision === 'int8' && existsSync(join(directory, QUANTIZED_GRAPH));
  const changed = {
    ...orchard,
    graph: isInt8 ? QUANTIZED_GRAPH : undefined,
    ...(precision === 'encoder' && encoderAlone(orchard)),
  };
  await writeFile(file, JSON.stringify({ ...config, orchard: changed }, undefined, 2));
}

/** A classifier may do without its expert; a retriever needn't weigh it. A tagger needs it, and is left as it is. */
function encoderAlone({ family, files, blend }: Orchard): Partial<Orchard> {
  if (family === 'Papaya') {
    return { files: files.filter((name) => name !== 'lexical.safetensors'), blend: undefined };
  }
  return family === 'Dragonfruit' ? { blend: { ...blend, encoder: 1, expert: 0 } } : {};
}
