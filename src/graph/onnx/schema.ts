import type protobuf from 'protobufjs/light.js';
import { varint, WireType } from './wire-file.js';

/**
 * The part of the ONNX model format that we write and read, as a protobufjs descriptor.
 * Message names, field names and numbers: https://github.com/onnx/onnx/blob/main/onnx/onnx.proto
 */

export const ElementTypeCode = { float32: 1, uint8: 2, int8: 3, int32: 6, int64: 7 } as const;
/** What the files that we write say of themselves. */
export const PRODUCER = 'orchard-nlp';
/** TensorProto.DataLocation: the numbers lie in another file. */
export const EXTERNAL_DATA = 1;
export const AttributeTypeCode = { float: 1, int: 2, string: 3, ints: 7 } as const;

const optional = (type: string, id: number): Field => ({ type, id });
const repeated = (type: string, id: number): Field => ({ rule: 'repeated', type, id });
const packed = (type: string, id: number): Field => ({ rule: 'repeated', type, id, options: { packed: true } });

/** A field, whose type is a scalar's or a message's name. */
interface Field {
  readonly type: string;
  readonly id: number;
  readonly rule?: string;
  readonly options?: { readonly packed: true };
}

interface Message {
  readonly fields: Record<string, Field>;
  readonly nested?: Record<string, Message>;
}

const descriptor: { readonly nested: Record<string, Message> } = {
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

/** protobufjs, loaded when a graph is first read as a whole. */
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

type MessageName = 'ModelProto' | 'GraphProto' | 'TensorProto';

/**
 * The bytes of one message, of which any field may be absent; protobufjs would write the same. It takes 60 ms to load and to
 * compile its writers, which the first step of every training would wait for.
 */
export function encode(name: MessageName, message: object): Uint8Array {
  const writer = new MessageWriter();
  writer.message(messageNamed(name, descriptor), message);
  return writer.bytes();
}

/** A message type by its name, which is looked for in the type that refers to it, then among all. */
function messageNamed(name: string, { nested }: Pick<Message, 'nested'>): Message {
  const found = nested?.[name] ?? descriptor.nested[name];
  if (found === undefined) throw new RangeError(`no message ${name} is described`);
  return found;
}

/** Bytes from this number on are not copied before the whole message is put together. */
const LARGE = 256;

/** Writes messages in protobuf's wire format: https://protobuf.dev/programming-guides/encoding/ */
class MessageWriter {
  readonly #pieces: Uint8Array[] = [];
  /** What follows the pieces. */
  readonly #open: number[] = [];

  message(type: Message, message: object): void {
    const values = new Map<string, unknown>(Object.entries(message));
    const fields = Object.entries(type.fields).sort(([, a], [, b]) => a.id - b.id);
    for (const [name, field] of fields) {
      const value = values.get(name);
      if (value === undefined) continue;
      const isPacked = field.options?.packed;
      const each: readonly unknown[] = Array.isArray(value) && !isPacked ? value : [value];
      for (const one of each) this.#field(field, one, type);
    }
  }

  #field({ id, type }: Field, value: unknown, scope: Message): void {
    if (typeof value === 'number' && type === 'float') {
      this.#varint((id << 3) | WireType.four);
      this.#push(new Uint8Array(Float32Array.of(value).buffer));
    } else if (typeof value === 'number') {
      this.#varint((id << 3) | WireType.varint);
      this.#varint(value);
    } else if (typeof value === 'string') this.#span(id, Buffer.from(value));
    else if (value instanceof Uint8Array) this.#span(id, value);
    else if (Array.isArray(value)) {
      const packed = new MessageWriter();
      for (const one of value) packed.#varint(Number(one));
      if (value.length > 0) this.#span(id, ...packed.#all());
    } else if (typeof value === 'object' && value !== null) {
      const inner = new MessageWriter();
      inner.message(messageNamed(type, scope), value);
      this.#span(id, ...inner.#all());
    }
  }

  /** A text, bytes or a message. */
  #span(id: number, ...pieces: readonly Uint8Array[]): void {
    this.#varint((id << 3) | WireType.span);
    this.#varint(pieces.reduce((sum, { length }) => sum + length, 0));
    for (const piece of pieces) this.#push(piece);
  }

  #push(piece: Uint8Array): void {
    if (piece.length < LARGE) {
      for (const byte of piece) this.#open.push(byte);
    } else this.#pieces.push(Uint8Array.from(this.#open.splice(0)), piece);
  }

  #varint(value: number): void {
    for (const byte of varint(value)) this.#open.push(byte);
  }

  #all(): readonly Uint8Array[] {
    return [...this.#pieces, Uint8Array.from(this.#open)];
  }

  bytes(): Uint8Array {
    return Buffer.concat(this.#all());
  }
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
export function modelPieces({ graph, ...model }: ModelProto, late: readonly LateInitializer[]): Iterable<Uint8Array> {
  const around = encode('ModelProto', model);
  const fields = encode('GraphProto', graph);
  const heads = late.map(({ tensor, bytes }) => {
    const described = encode('TensorProto', tensor);
    const raw = [RAW_DATA_TAG, ...varint(bytes)];
    const length = described.length + raw.length + bytes;
    return Uint8Array.of(INITIALIZER_TAG, ...varint(length), ...described, ...raw);
  });
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
