import { encode, type ModelProto, type TensorProto } from './schema.js';
import { varint } from './varint.js';

/** An initializer of float32 whose numbers are asked for when they are written. */
export interface LateInitializer {
  readonly tensor: TensorProto;
  /** Of its numbers. */
  readonly bytes: number;
  readonly read: () => Float32Array;
}

/** Wire types and field numbers of onnx.proto. */
const GRAPH_TAG = 0x3a; // ModelProto.graph
const INITIALIZER_TAG = 0x2a; // GraphProto.initializer
const RAW_DATA_TAG = 0x4a; // TensorProto.raw_data

/**
 * An ONNX model piece by piece, so that a large one is never in memory as a whole.
 * @param late further initializers; each is read when it is its turn.
 */
export async function modelPieces(
  { graph, ...model }: ModelProto,
  late: readonly LateInitializer[],
): Promise<Iterable<Uint8Array>> {
  const around = await encode('ModelProto', model);
  const fields = await encode('GraphProto', graph);
  const heads = await Promise.all(
    late.map(async ({ tensor, bytes }) => {
      const described = await encode('TensorProto', tensor);
      const raw = [RAW_DATA_TAG, ...varint(bytes)];
      const length = described.length + raw.length + bytes;
      return Uint8Array.of(INITIALIZER_TAG, ...varint(length), ...described, ...raw);
    }),
  );
  const length = late.reduce((sum, { bytes }, at) => sum + (heads[at]?.length ?? 0) + bytes, fields.length);
  return (function* () {
    yield around;
    yield Uint8Array.of(GRAPH_TAG, ...varint(length));
    yield fields;
    for (const [at, { read }] of late.entries()) {
      yield heads[at] ?? new Uint8Array();
      const { buffer, byteOffset, byteLength } = read();
      yield new Uint8Array(buffer, byteOffset, byteLength);
    }
  })();
}
