/** What a graph in an `.onnx` file is made of, as far as it tells of its weights. */
import * as z from 'zod';
import { decodeModel, PRODUCER } from './schema.js';

const tensorSchema = z.object({
  name: z.string(),
  dataType: z.int(),
  dims: z.array(z.int().nonnegative()),
  rawData: z.instanceof(Uint8Array),
});
const modelSchema = z.object({
  producerName: z.literal(PRODUCER),
  graph: z.object({
    node: z.array(z.object({ opType: z.string(), input: z.array(z.string()) })),
    initializer: z.array(tensorSchema),
  }),
});
export type StoredTensor = z.infer<typeof tensorSchema>;
export type StoredGraph = z.infer<typeof modelSchema>['graph'];
export type StoredNode = StoredGraph['node'][number];

/** @throws Error if this library did not write it. */
export async function readModel(bytes: Uint8Array): Promise<StoredGraph> {
  const parsed = modelSchema.safeParse(await decodeModel(bytes));
  if (!parsed.success) throw new Error('is not a graph that this library wrote');
  return parsed.data.graph;
}
