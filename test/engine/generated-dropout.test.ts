import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { GeneratedDropout } from '../../src/engine/index.js';
import { type CompiledGraph, Graph, nodesFor, onnxExecutor, resolveShape, type Shape } from '../../src/graph/index.js';

/** Dropout masks that are made in the graph: against the same arithmetic in JavaScript, and as random numbers. */

const RATE = 0.1;
/** The chance of a 16-bit draw to be below the rate's, which is rounded to a multiple of 1 / 65,536. */
const CHANCE = Math.round(RATE * 65_536) / 65_536;
const KEPT = Math.fround(1 / (1 - CHANCE));
const SITES = 6;
const HIDDEN: Shape = ['tokens*batch', 64];
const ATTENTION: Shape = ['batch', 4, 'tokens', 'tokens'];
const SIZES = { tokens: 32, batch: 16 };

/** Masks of some sites of one shape, site by site; 1 where an element is dropped. */
class Masks {
  readonly #dropout: GeneratedDropout;
  readonly #compiled: CompiledGraph;
  readonly #shape: Shape;
  readonly #ones: string;

  private constructor(dropout: GeneratedDropout, compiled: CompiledGraph, shape: Shape, ones: string) {
    this.#dropout = dropout;
    this.#compiled = compiled;
    this.#shape = shape;
    this.#ones = ones;
  }

  static async of(shape: Shape, rate = RATE): Promise<Masks> {
    const graph = new Graph();
    const ones = graph.input('ones', 'float32', shape);
    // The sizes of symbols are read from inputs that have one of them as a dimension.
    graph.input('sizes', 'float32', ['tokens', 'batch']);
    const dropout = new GeneratedDropout(graph);
    for (let site = 0; site < SITES; site += 1) graph.output(String(site), dropout.apply(ones, rate));
    return new Masks(dropout, await onnxExecutor().compile(graph), shape, ones.name);
  }

  /** The factors of each site. */
  async factors(state: { seed: number; position: number }): Promise<Float32Array[]> {
    const dims = resolveShape(this.#shape, SIZES);
    const count = dims.reduce((product, size) => product * size, 1);
    const { tokens, batch } = SIZES;
    const outputs = Array.from({ length: SITES }, () => new Float32Array(count));
    const named = outputs.map((data, site) => [String(site), { type: 'float32', dims, data }] as const);
    await this.#compiled.run(
      {
        [this.#ones]: { type: 'float32', dims, data: new Float32Array(count).fill(1) },
        sizes: { type: 'float32', dims: [tokens, batch], data: new Float32Array(tokens * batch) },
        ...this.#dropout.feeds(state, SIZES),
      },
      Object.fromEntries(named),
    );
    return outputs;
  }

  async dropped(position: number, seed = 1): Promise<Uint8Array[]> {
    const factors = await this.factors({ seed, position });
    return factors.map((site) => Uint8Array.from(site, (factor) => Number(factor === 0)));
  }

  release(): Promise<void> {
    return this.#compiled.release();
  }
}

/** How many standard deviations a count of successes is from its expectation. */
function deviations(count: number, trials: number, chance: number): number {
  return (count - trials * chance) / Math.sqrt(trials * chance * (1 - chance));
}

/** Deviations of how many elements two masks drop both: independent masks do so by chance². */
function together(a: Uint8Array, b: Uint8Array): number {
  const both = a.reduce((sum, dropped, at) => sum + dropped * (b[at] ?? 0), 0);
  return deviations(both, a.length, CHANCE ** 2);
}

/** As text, which is compared faster than numbers one by one. */
const bytesOf = ({ buffer }: Float32Array): string => Buffer.from(buffer).toString('base64');

const rootMeanSquare = (values: readonly number[]): number => Math.hypot(...values) / Math.sqrt(values.length);

describe.each([
  ['a layer', HIDDEN],
  ['attention', ATTENTION],
] as const)('masks of %s', (_, shape) => {
  let masks: Masks;
  beforeEach(async () => {
    masks = await Masks.of(shape);
  });
  afterEach(() => masks.release());

  it('drop as many elements as the rate says, at every site and step', async () => {
    const found: number[] = [];
    for (let position = 0; position < 5; position += 1) {
      for (const mask of await masks.dropped(position)) {
        found.push(
          deviations(
            mask.reduce((sum, dropped) => sum + dropped, 0),
            mask.length,
            CHANCE,
          ),
        );
      }
    }
    expect(Math.max(...found.map(Math.abs))).toBeLessThan(4);
    expect(rootMeanSquare(found)).toBeLessThan(1.5);
    expect(rootMeanSquare(found)).toBeGreaterThan(0.5);
  });

  it('have nothing to do with those of other sites, steps and seeds', async () => {
    const [first, next, far, other] = [
      await masks.dropped(0),
      await masks.dropped(1),
      await masks.dropped(2 ** 33),
      await masks.dropped(0, 2),
    ];
    const all = [first, next, far, other].flat();
    const found = all.flatMap((a, at) => all.slice(at + 1).map((b) => together(a, b)));
    expect(found).toHaveLength((24 * 23) / 2);
    expect(Math.max(...found.map(Math.abs))).toBeLessThan(4.5);
    expect(rootMeanSquare(found)).toBeLessThan(1.2);
  });

  it('have nothing in common from row to row and from column to column', async () => {
    const [mask = new Uint8Array()] = await masks.dropped(3);
    const width = Number(shape.at(-1) === 64 ? 64 : SIZES.tokens);
    const height = 256;
    const rows = Array.from({ length: height }, (_, row) => mask.slice(row * width, (row + 1) * width));
    const columns = Array.from({ length: width }, (_, column) => Uint8Array.from(rows, (row) => row[column] ?? 0));
    for (const lines of [rows, columns]) {
      const found = lines.flatMap((a, at) => lines.slice(at + 1).map((b) => together(a, b)));
      expect(rootMeanSquare(found)).toBeLessThan(1.15);
      expect(rootMeanSquare(found)).toBeGreaterThan(0.85);
      const sums = lines.map((line) =>
        deviations(
          line.reduce((sum, dropped) => sum + dropped, 0),
          line.length,
          CHANCE,
        ),
      );
      expect(rootMeanSquare(sums)).toBeLessThan(1.25);
    }
  });

  it('are the same again for the same step', async () => {
    const [first, again] = [
      await masks.factors({ seed: 5, position: 9 }),
      await masks.factors({ seed: 5, position: 9 }),
    ];
    expect(first.map(bytesOf)).toEqual(again.map(bytesOf));
  });

  it('keep what is expected of a value: dropped ones are 0, all others larger', async () => {
    const factors = new Set((await masks.factors({ seed: 5, position: 9 })).flatMap((site) => [...site]));
    expect([...factors].sort()).toEqual([0, KEPT]);
  });
});

/** The whole numbers in a graph, in the order in which they are used. */
function integersIn(graph: Graph): (readonly number[])[] {
  const used = nodesFor([...graph.outputs.values()]).flatMap(({ inputs }) => inputs);
  return [...new Set(used)].flatMap(({ type, source }) =>
    type === 'int32' && source.kind === 'constant' ? [source.values] : [],
  );
}

it('are the numbers of the same arithmetic in JavaScript', async () => {
  const graph = new Graph();
  const ones = graph.input('ones', 'float32', ['batch', 2]);
  const dropout = new GeneratedDropout(graph);
  graph.output('y', dropout.apply(ones, 0.5));
  const [[factor = 0] = [], columns = [], [one] = [], [half = 0] = [], [site = 0] = [], [bound = 0] = []] =
    integersIn(graph);
  expect([columns.length, one, half, bound]).toEqual([2, 1, 65_536, -1]);
  const feeds = dropout.feeds({ seed: 1, position: 0 }, { batch: 500 });
  const [keys = expect.fail('there are no keys')] = Object.values(feeds);
  const compiled = await onnxExecutor().compile(graph);
  const y = { type: 'float32', dims: [500, 2], data: new Float32Array(1000) } as const;
  await compiled.run({ ones: { ...y, data: new Float32Array(1000).fill(1) }, ...feeds }, { y });
  const expected = Array.from(keys.data, Number).flatMap((key) =>
    columns.map((column) => {
      let x = (Math.imul(key, factor) + column) | 0;
      for (let round = 0; round < 2; round += 1) {
        const product = Math.imul(x, 2 * x + 1);
        x = (product + Math.trunc(product / half)) | 0;
      }
      const number = (2 * x + site) | 0;
      return Math.imul(number, number) > bound ? 2 : 0;
    }),
  );
  expect([...y.data]).toEqual(expected);
  await compiled.release();
});

it('adds nothing to a graph where the rate is 0', () => {
  const graph = new Graph();
  const x = graph.input('x', 'float32', [2]);
  expect(new GeneratedDropout(graph).apply(x, 0)).toBe(x);
  expect(() => new GeneratedDropout(graph).apply(x, 1)).toThrow('below 1');
});
