import type { Random } from '../../src/system/numbers.js';

/** Spoils an ONNX file as one who knows the format would: the messages stay whole, their contents don't. */

/** A field of a protobuf message. */
interface Field {
  readonly number: number;
  readonly wire: number;
  /** Of a number or bytes. */
  content: Buffer;
  /** Of a message. */
  readonly fields?: Field[];
}

/** The fields that are messages, by their numbers from the model on: graph, nodes, attributes, tensors, inputs. */
const MESSAGES = new Set(
  ['7', '7.1', '7.1.5', '7.5', ...[11, 12].flatMap((value) => [`7.${value}`, `7.${value}.2`, `7.${value}.2.1`])].concat(
    [11, 12].flatMap((value) => [`7.${value}.2.1.2`, `7.${value}.2.1.2.1`]),
  ),
);

/** Numbers that are near a limit of something. */
const NUMBERS = [0, 1, 2, 3, 7, 13, 16, 64, 255, 2 ** 16, 2 ** 31 - 1, 2 ** 31, 2 ** 32, 1e12, 2 ** 62];

export function mutatedGraph(bytes: Buffer, random: Random): Buffer {
  const fields = parsed(bytes, '');
  const changes = 1 + random.integer(3);
  for (let change = 0; change < changes; change += 1) changeOne(fields, random);
  return encoded(fields);
}

function changeOne(root: Field[], random: Random): void {
  const places = placesIn(root, '');
  const place = places[random.integer(places.length)];
  if (place === undefined) return;
  const { parent, at, path } = place;
  const field = parent[at];
  const alike = places.filter((other) => other.path === path);
  const other = alike[random.integer(alike.length)];
  const stranger = other?.parent[other.at];
  const kind = random.integer(5);
  if (field === undefined || stranger === undefined) return;
  if (kind === 0) parent.splice(at, 1);
  else if (kind === 1) parent.splice(at, 0, stranger);
  else if (kind === 2) parent[at] = stranger;
  else if (field.fields === undefined) field.content = changed(field, stranger, random);
}

function changed({ wire, content }: Field, stranger: Field, random: Random): Buffer {
  if (wire === 0) return varint(NUMBERS[random.integer(NUMBERS.length)] ?? 0);
  if (wire !== 2) return Buffer.from(content.map(() => random.integer(256)));
  const kind = random.integer(4);
  if (kind === 0) return content.subarray(0, random.integer(content.length + 1));
  if (kind === 1) return Buffer.concat([content, stranger.content]);
  if (kind === 2) return Buffer.from(content.map((byte) => (random.uniform() < 0.1 ? random.integer(256) : byte)));
  return varint(NUMBERS[random.integer(NUMBERS.length)] ?? 0);
}

interface Place {
  readonly parent: Field[];
  readonly at: number;
  readonly path: string;
}

function placesIn(fields: Field[], path: string): Place[] {
  return fields.flatMap((field, at) => {
    const own = `${path}${field.number}`;
    return [{ parent: fields, at, path: own }, ...(field.fields ? placesIn(field.fields, `${own}.`) : [])];
  });
}

function parsed(bytes: Buffer, path: string): Field[] {
  const fields: Field[] = [];
  let at = 0;
  const number = () => {
    let value = 0;
    let factor = 1;
    for (;;) {
      const byte = bytes[at] ?? 0;
      at += 1;
      value += (byte & 0x7f) * factor;
      factor *= 128;
      if (byte < 0x80) return value;
    }
  };
  while (at < bytes.length) {
    const tag = number();
    const [field, wire] = [Math.floor(tag / 8), tag % 8];
    const from = at;
    if (wire === 0) number();
    else if (wire === 2) {
      const length = number();
      at += length;
    } else at += wire === 1 ? 8 : 4;
    const own = `${path}${field}`;
    const isMessage = wire === 2 && MESSAGES.has(own);
    const content = wire === 2 ? withoutLength(bytes.subarray(from, at)) : bytes.subarray(from, at);
    fields.push({ number: field, wire, content, ...(isMessage && { fields: parsed(content, `${own}.`) }) });
  }
  return fields;
}

function withoutLength(bytes: Buffer): Buffer {
  return bytes.subarray(bytes.findIndex((byte) => byte < 0x80) + 1);
}

function encoded(fields: readonly Field[]): Buffer {
  return Buffer.concat(
    fields.flatMap(({ number, wire, content, fields: inner }) => {
      const bytes = inner === undefined ? content : encoded(inner);
      return [varint(8 * number + wire), ...(wire === 2 ? [varint(bytes.length)] : []), bytes];
    }),
  );
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128);
  return Buffer.from([...bytes, rest]);
}
