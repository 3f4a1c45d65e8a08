import type protobuf from 'protobufjs/light.js';
import { varint } from './wire-file.js';

/**
 * The part of the ONNX model format that we write, as a protobufjs descriptor.
 * Message names, field names and numbers: https://github.com/onnx/onnx/blob/main/onnx/onnx.proto
 */

export const ElementTypeCode = { float32: 1, uint8: 2, int8: 3, int32: 6, int64: 7 } as const;
/** What the files that we write say of themselves. */
export const PRODUCER = 'orchard-nlp';
/** TensorProto.DataLocation: the numbers lie in another file. */
export const EXTERNAL_DATA = 1;
export const AttributeTypeCode = { float: 1, int: 2, string: 3, ints: 7 } as const;

const optional = (type: string, id: number) => ({ type, id });
const repeated = (type: string, id: number) => ({ rule: 'repeated', type, id });
const packed = (type: string, id: number) => ({ rule: 'repeated', type, id, options: { packed: true } });

const descriptor: protobuf.INamespace = {
  nested: {
    ModelProto: {
      fields: {
        irVersion: optional('int64', 1),
        producerName: optional('string', 2),
        graph: optional('GraphProto', 7),
        opsetImport: repeated('OperatorSetIdProto', 8),
      },
    },
    OperatorSetIdProto: { fields: { domain: optional('string', 1), version: optional('int64', 2) } },
    GraphProto: {
      fields: {
        node: repeated('NodeProto', 1),
        name: optional('string', 2),
        initializer: repeated('TensorProto', 5),
        input: repeated('ValueInfoProto', 11),
        output: repeated('ValueInfoProto', 12),
      },
    },
    NodeProto: {
      fields: {
        input: repeated('string', 1),
        output: repeated('string', 2),
        name: optional('string', 3),
        opType: optional('string', 4),
        attribute: repeated('AttributeProto', 5),
        domain: optional('string', 7),
      },
    },
    AttributeProto: {
      fields: {
        name: optional('string', 1),
        f: optional('float', 2),
        i: optional('int64', 3),
        s: optional('bytes', 4),
        ints: packed('int64', 8),
        type: optional('int32', 20),
      },
    },
    TensorProto: {
      fields: {
        dims: packed('int64', 1),
        dataType: optional('int32', 2),
        name: optional('string', 8),
        rawData: optional('bytes', 9),
        externalData: repeated('StringStringEntryProto', 13),
        dataLocation: optional('int32', 14),
      },
    },
    StringStringEntryProto: { fields: { key: optional('string', 1), value: optional('string', 2) } },
    ValueInfoProto: { fields: { name: optional('string', 1), type: optional('TypeProto', 2) } },
    TypeProto: {
      fields: { tensorType: optional('Tensor', 1) },
      nested: {
        Tensor: { fields: { elemType: optional('int32', 1), shape: optional('TensorShapeProto', 2) } },
      },
    },
    TensorShapeProto: {
      fields: { dim: repeated('Dimension', 1) },
      nested: {
        Dimension: { fields: { dimValue: optional('int64', 1), dimParam: optional('string', 2) } },
      },
    },
  },
};

/** protobufjs, loaded when a graph is first written; running a graph from disk doesn't need it. */
let types: Promise<protobuf.Root> | undefined;

async function loadTypes(): Promise<protobuf.Root> {
  const { default: library } = await import('protobufjs/light.js');
  return library.Root.fromJSON(descriptor);
}

export interface TensorProto {
  readonly name: string;
  readonly dataType: number;
  readonly dims: readonly number[];
  readonly rawData?: Uint8Array;
  /** Where the numbers lie instead, if `dataLocation` says so. */
  readonly externalData?: readonly { readonly key: string; readonly value: string }[];
  readonly dataLocation?: number;
}

interface AttributeProto {
  readonly name: string;
  readonly type: number;
  readonly f?: number;
  readonly i?: number;
  readonly s?: Uint8Array;
  readonly ints?: readonly number[];
}

export interface NodeProto {
  readonly opType: string;
  readonly domain: string;
  readonly name: string;
  readonly input: readonly string[];
  readonly output: readonly string[];
  readonly attribute: readonly AttributeProto[];
}

export interface ValueInfoProto {
  readonly name: string;
  readonly type: {
    readonly tensorType: {
      readonly elemType: number;
      readonly shape: { readonly dim: readonly { dimValue?: number; dimParam?: string }[] };
    };
  };
}

export interface ModelProto {
  readonly irVersion: number;
  readonly producerName: string;
  readonly opsetImport: readonly { readonly domain: string; readonly version: number }[];
  readonly graph: {
    readonly name: string;
    readonly node: readonly NodeProto[];
    readonly initializer: readonly TensorProto[];
    readonly input: readonly ValueInfoProto[];
    readonly output: readonly ValueInfoProto[];
  };
}

/** The contents of an `.onnx` file as plain objects; absent fields are left out, but for lists. @throws Error if it is none */
export async function decodeModel(bytes: Uint8Array): Promise<unknown> {
  types ??= loadTypes();
  const type = (await types).lookupType('ModelProto');
  return type.toObject(type.decode(bytes), { longs: Number, arrays: true });
}

/** The bytes of one message, of which any field may be absent. */
export async function encode(name: 'ModelProto' | 'GraphProto' | 'TensorProto', message: object): Promise<Uint8Array> {
  types ??= loadTypes();
  const type = (await types).lookupType(name);
  return type.encode(type.fromObject(message)).finish();
}

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
