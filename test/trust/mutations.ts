import { Random } from '../../src/system/numbers.js';
import { mutatedGraph } from './mutated-graph.js';

/** Ways to spoil a file of a model folder, each decided by a seed. */

type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/** What stands in the place of a value. */
const strangers: readonly (() => Json)[] = [
  () => null,
  () => true,
  () => -1,
  () => 0,
  () => 1,
  () => 1.5,
  () => 255,
  () => 1e12,
  () => 2 ** 31,
  () => -(2 ** 53),
  () => 1e308,
  () => '',
  () => 'NaN',
  () => '../../etc/passwd',
  () => '/dev/zero',
  () => 'con',
  () => '__proto__',
  () => '\u0000\ud800',
  () => '(a+)+$',
  () => '(\\p{L}|\\w)*\\d',
  () => 'x'.repeat(5_000),
  () => [],
  () => ({}),
  () => Array.from({ length: 5_000 }, () => 'a'),
  () => [0, 1e12],
  () => DEEP,
];

/** Stands for lists within lists, which are written in its place. */
const DEEP = 'lists within lists';
const DEEP_JSON = '['.repeat(50_000) + ']'.repeat(50_000);

/** The bytes with a change that fits the kind of file. */
export function mutated(name: string, bytes: Buffer, random: Random): Buffer {
  if (name.endsWith('.json') && random.uniform() < 0.8) return mutatedJson(bytes, random);
  if (name.endsWith('.safetensors') && random.uniform() < 0.6) return mutatedHeader(bytes, random);
  if (name.endsWith('.onnx') && random.uniform() < 0.8) return mutatedGraph(bytes, random);
  return mutatedBytes(bytes, random);
}

function mutatedBytes(bytes: Buffer, random: Random): Buffer {
  const changed = Buffer.from(bytes);
  const kind = random.integer(5);
  if (kind === 0) return changed.subarray(0, random.integer(changed.length + 1));
  if (kind === 1) return Buffer.concat([changed, Buffer.alloc(random.integer(100), random.integer(256))]);
  if (kind === 2) {
    const from = random.integer(changed.length);
    return Buffer.concat([changed.subarray(0, from), changed.subarray(from + random.integer(64))]);
  }
  const flips = 1 + random.integer(kind === 3 ? 1 : 16);
  for (let flip = 0; flip < flips; flip += 1) {
    const at = random.integer(changed.length);
    changed[at] = kind === 3 ? (changed[at] ?? 0) ^ (1 << random.integer(8)) : random.integer(256);
  }
  return changed;
}

/** A place in JSON. */
interface Place {
  readonly parent: Json[] | { [name: string]: Json };
  readonly key: string;
}

function mutatedJson(bytes: Buffer, random: Random): Buffer {
  const root: { [name: string]: Json } = { root: JSON.parse(bytes.toString('utf8')) };
  const changes = 1 + random.integer(2);
  for (let change = 0; change < changes; change += 1) changeJson(root, random);
  // A number beyond float64's range is written as it would be in a file.
  const text = JSON.stringify(root.root ?? null).replaceAll(`"${DEEP}"`, DEEP_JSON);
  return Buffer.from(text.replaceAll('1e+308', '1e999'));
}

function changeJson(root: { [name: string]: Json }, random: Random): void {
  const places = placesIn(root);
  const place = pick(places, random);
  if (place === undefined) return;
  const value = get(place);
  const kind = random.integer(6);
  if (kind === 0) remove(place);
  else if (kind === 1) {
    const other = pick(places, random);
    if (other !== undefined && !contains(value, other.parent)) set(place, structuredClone(get(other)));
  } else if (kind === 2 && typeof value === 'number') set(place, numberNear(value, random));
  else if (kind === 3 && Array.isArray(value))
    set(
      place,
      Array.from({ length: 5_000 }, () => value[0] ?? null),
    );
  else if (kind === 4 && typeof value === 'object' && value !== null && !Array.isArray(value)) {
    value[pick(['__proto__', 'constructor', 'length', 'x'], random) ?? 'x'] = pick(strangers, random)?.() ?? null;
  } else set(place, pick(strangers, random)?.() ?? null);
}

/** As many places of a vocabulary as of a small object, so that the rest isn't lost among them. */
const MAX_PLACES = 12;

function placesIn(parent: Json[] | { [name: string]: Json }): Place[] {
  const keys = Object.keys(parent);
  const step = Math.max(1, Math.floor(keys.length / MAX_PLACES));
  return keys
    .filter((_, at) => at % step === 0)
    .flatMap((key) => {
      const value = get({ parent, key });
      return [{ parent, key }, ...(typeof value === 'object' && value !== null ? placesIn(value) : [])];
    });
}

function get({ parent, key }: Place): Json {
  return (Array.isArray(parent) ? parent[Number(key)] : parent[key]) ?? null;
}

function set({ parent, key }: Place, value: Json): void {
  if (Array.isArray(parent)) parent[Number(key)] = value;
  else Object.defineProperty(parent, key, { value, enumerable: true, configurable: true, writable: true });
}

function remove({ parent, key }: Place): void {
  if (Array.isArray(parent)) parent.splice(Number(key), 1);
  else delete parent[key];
}

function contains(value: Json, sought: Json): boolean {
  if (value === sought) return true;
  return typeof value === 'object' && value !== null && Object.values(value).some((each) => contains(each, sought));
}

function numberNear(value: number, random: Random): number {
  return pick([value + 1, value - 1, -value, value * 1e6, value * 1e12, 2 * value, value / 3], random) ?? 0;
}

function pick<T>(from: readonly T[], random: Random): T | undefined {
  return from.length === 0 ? undefined : from[random.integer(from.length)];
}

/** Changes the JSON header of a safetensors file, and leaves the numbers where they are. */
function mutatedHeader(bytes: Buffer, random: Random): Buffer {
  const length = Number(bytes.readBigUInt64LE(0));
  const header = mutatedJson(bytes.subarray(8, 8 + length), random);
  const start = Buffer.alloc(8);
  start.writeBigUInt64LE(BigInt(header.length));
  return Buffer.concat([start, header, bytes.subarray(8 + length)]);
}

/** The generator of a mutant. */
export const randomOf = (seed: number): Random => Random.fromSeed(0x0f0d, seed);
