import { fields, type JsonShape, listOf, number, oneOf, type Shaped, shaped, text, whole } from '../../system/index.js';
import { type Span, varint, WireFile, WireType } from './wire-file.js';

/** The part of the ONNX model format that we write. Names and numbers: https://github.com/onnx/onnx/blob/main/onnx/onnx.proto */

export const ElementTypeCode = { float32: 1, uint8: 2, int8: 3, int32: 6, int64: 7 } as const;
/** What the files that we write say of themselves. */
export const PRODUCER = 'orchard-nlp';
/** TensorProto.DataLocation: the numbers lie in another file. */
export const EXTERNAL_DATA = 1;
export const AttributeTypeCode = { float: 1, int: 2, string: 3, ints: 7 } as const;

interface Field {
  readonly number: number;
  readonly type: 'integer' | 'float' | 'text' | 'bytes' | Message;
  readonly isRepeated: boolean;
}
/** The fields of a message, by increasing number. */
type Message = Readonly<Record<string, Field>>;

const one = (number: number, type: Field['type']): Field => ({ number, type, isRepeated: false });
const many = (number: number, type: Field['type']): Field => ({ number, type, isRepeated: true });

const dimension: Message = { dimValue: one(1, 'integer'), dimParam: one(2, 'text') };
const tensorType: Message = { elemType: one(1, 'integer'), shape: one(2, { dim: many(1, dimension) }) };
const valueInfo: Message = { name: one(1, 'text'), type: one(2, { tensorType: one(1, tensorType) }) };
const entry: Message = { key: one(1, 'text'), value: one(2, 'text') };
const tensor: Message = {
  dims: many(1, 'integer'),
  dataType: one(2, 'integer'),
  name: one(8, 'text'),
  rawData: one(9, 'bytes'),
  externalData: many(13, entry),
  dataLocation: one(14, 'integer'),
};
const attribute: Message = {
  name: one(1, 'text'),
  f: one(2, 'float'),
  i: one(3, 'integer'),
  s: one(4, 'bytes'),
  ints: many(8, 'integer'),
  type: one(20, 'integer'),
};
const node: Message = {
  input: many(1, 'text'),
  output: many(2, 'text'),
  name: one(3, 'text'),
  opType: one(4, 'text'),
  attribute: many(5, attribute),
  domain: one(7, 'text'),
};
const graph: Message = {
  node: many(1, node),
  name: one(2, 'text'),
  initializer: many(5, tensor),
  input: many(11, valueInfo),
  output: many(12, valueInfo),
};
const model: Message = {
  irVersion: one(1, 'integer'),
  producerName: one(2, 'text'),
  graph: one(7, graph),
  opsetImport: many(8, { domain: one(1, 'text'), version: one(2, 'integer') }),
};

/** Numbers of a tensor that are read when they are written, so that a large model is never in memory as a whole. */
export class LateNumbers {
  constructor(
    /** In bytes. */
    readonly byteLength: number,
    readonly read: () => Float32Array,
  ) {}
}

export interface TensorProto {
  readonly name: string;
  readonly dataType: number;
  readonly dims: readonly number[];
  readonly rawData?: Uint8Array | LateNumbers;
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

/** The bytes of an ONNX model, piece by piece. @param given a {@link ModelProto}, or what {@link decodeModel} gave. */
export function* modelPieces(given: object): Generator<Uint8Array, void> {
  for (const piece of messagePieces(model, given)) {
    if (isBytes(piece)) yield piece;
    else {
      const { buffer, byteOffset, byteLength } = piece.read();
      yield new Uint8Array(buffer, byteOffset, byteLength);
    }
  }
}

/** Of any realm. */
function isBytes(value: unknown): value is Uint8Array {
  return ArrayBuffer.isView(value) && Object.prototype.toString.call(value) === '[object Uint8Array]';
}

type Piece = Uint8Array | LateNumbers;

function messagePieces(message: Message, given: object): Piece[] {
  const values = new Map<string, unknown>(Object.entries(given));
  return Object.entries(message).flatMap(([name, field]) => {
    const value = values.get(name);
    return value === undefined ? [] : fieldPieces(field, value);
  });
}

function fieldPieces({ number, type, isRepeated }: Field, value: unknown): Piece[] {
  const values: readonly unknown[] = Array.isArray(value) ? value : [value];
  if (type === 'integer' && isRepeated) {
    const packed = Uint8Array.from(values.flatMap((each) => varint(Number(each))));
    return values.length === 0 ? [] : span(number, [packed]);
  }
  return values.flatMap((each): Piece[] => {
    if (type === 'integer')
      return [Uint8Array.from([...varint(8 * number + WireType.varint), ...varint(Number(each))])];
    if (type === 'float') {
      const bytes = new Uint8Array(Float32Array.of(Number(each)).buffer);
      return [Uint8Array.from([...varint(8 * number + WireType.four), ...bytes])];
    }
    if (type === 'text') return span(number, [new TextEncoder().encode(String(each))]);
    if (type === 'bytes') return isBytes(each) || each instanceof LateNumbers ? span(number, [each]) : [];
    return typeof each === 'object' && each !== null ? span(number, messagePieces(type, each)) : [];
  });
}

function span(number: number, content: readonly Piece[]): Piece[] {
  const bytes = content.reduce((sum, { byteLength }) => sum + byteLength, 0);
  return [Uint8Array.from([...varint(8 * number + WireType.span), ...varint(bytes)]), ...content];
}

const bytesShape: JsonShape<Uint8Array> = (value): value is Uint8Array => isBytes(value);
const attributeShape = fields({ name: text }, { f: number(), i: whole(), ints: listOf(whole()) });
const nodeShape = fields(
  { opType: text, input: listOf(text), output: listOf(text), attribute: listOf(attributeShape) },
  {},
);
const tensorShape = fields({ name: text, dataType: whole(), dims: listOf(whole(0)), rawData: bytesShape }, {});
const graphShape = fields({ node: listOf(nodeShape), initializer: listOf(tensorShape) }, {});
const modelShape = fields({ producerName: oneOf(PRODUCER), graph: graphShape }, {});
export type StoredNode = Shaped<typeof nodeShape>;
export type StoredTensor = Shaped<typeof tensorShape>;

/** The contents of an `.onnx` file with its weights inside; undefined if this library did not write it. */
export function decodeModel(bytes: Uint8Array): Shaped<typeof modelShape> | undefined {
  try {
    return shaped(modelShape, decoded(model, new WireFile(bytes, bytes.length), { from: 0, to: bytes.length }, bytes));
  } catch {
    return undefined;
  }
}

/** Absent fields are left out, but for lists. */
function decoded(message: Message, file: WireFile, within: Span, bytes: Uint8Array): object {
  const values = new Map<string, unknown>();
  for (const [name, { isRepeated }] of Object.entries(message)) if (isRepeated) values.set(name, []);
  const names = new Map(Object.entries(message).map(([name, field]) => [field.number, { name, ...field }]));
  for (const found of file.fields(within)) {
    const field = names.get(found.number);
    if (field === undefined) continue;
    const { name, type } = field;
    const add = (value: unknown) => {
      const known = values.get(name);
      if (Array.isArray(known)) known.push(value);
      else values.set(name, value);
    };
    if (type === 'integer') for (const value of file.numbers(found)) add(value);
    else if (type === 'float') add(new DataView(bytes.buffer, bytes.byteOffset + found.from).getFloat32(0, true));
    else if (type === 'text') add(file.text(found, found.to - found.from));
    else if (type === 'bytes') add(bytes.subarray(found.from, found.to));
    else add(decoded(type, file, found, bytes));
  }
  return Object.fromEntries(values);
}
