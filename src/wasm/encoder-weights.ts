import { ModelFolderError } from '../contract/index.js';
import type { ForwardKernels } from '../engine/index.js';
import type { StoredLayer, StoredModel } from '../graph/index.js';
import type { MemoryLayout } from './memory-layout.js';

/** A panel of weights has eight columns. */
export const PANEL = 8;

const FLOAT = 4;

/** A linear layer. Numbers are addresses, but for the counts. */
export interface Layer {
  readonly inputs: number;
  /** A multiple of 8; a layer with fewer has columns of zeros. */
  readonly outputs: number;
  readonly panels: number;
  readonly bias: number;
  /** Of 8-bit weights. */
  readonly bytes: { readonly scales: number; readonly rounding: Rounding } | undefined;
}

/** How the input of a layer is rounded: x / step, from -zero to 255 - zero. */
export interface Rounding {
  readonly step: number;
  readonly zero: number;
}

/** Of a layer normalization. */
export interface Norm {
  readonly weight: number;
  readonly bias: number;
}

/** A table of embeddings. */
export interface Table {
  readonly rows: number;
  /** Copies rows by their ids: `out` [count, width]. */
  gather(kernels: ForwardKernels, ids: number, count: number, out: number): void;
}

/** Places the weights of a graph in memory, by transformers' names without the prefix. */
export class EncoderWeights {
  readonly #stored: StoredModel;
  readonly #layout: MemoryLayout;
  readonly #file: string;

  constructor(stored: StoredModel, layout: MemoryLayout, file: string) {
    this.#stored = stored;
    this.#layout = layout;
    this.#file = file;
  }

  /** Layers that read the same input, as one with all their outputs. @throws ModelFolderError */
  layer(names: readonly string[], inputs: number): Layer {
    const stored = names.map((name) => this.#stored.layers.get(`${name}.weight`));
    const bytes = stored.filter((each) => each !== undefined);
    if (bytes.length === names.length) return this.#byteLayer(names, bytes, inputs);
    if (bytes.length === 0) return this.#floatLayer(names, inputs);
    throw this.#refusal(`only some of ${names.join(', ')} are stored in 8 bits`);
  }

  has(name: string): boolean {
    return this.#stored.floats.has(name);
  }

  /** @throws ModelFolderError */
  outputsOf(name: string): number {
    return this.#floats(`${name}.bias`).length;
  }

  /** @throws ModelFolderError */
  norm(name: string, width: number): Norm {
    const place = (part: string) =>
      this.#layout.put(this.#sized(this.#floats(`${name}.${part}`), width, `${name}.${part}`));
    return { weight: place('weight'), bias: place('bias') };
  }

  /** A table, which stays in few bits. @throws ModelFolderError */
  table(name: string, width: number): Table {
    const stored = this.#stored.tables.get(`${name}.weight`);
    if (stored === undefined) {
      const values = this.#floats(`${name}.weight`);
      const rows = values.length / width;
      if (!Number.isInteger(rows)) throw this.#refusal(`${name} has ${values.length} numbers: no rows of ${width}`);
      const at = this.#layout.put(values);
      return { rows, gather: (kernels, ids, count, out) => kernels.gatherFloats(at, width, ids, count, out) };
    }
    if (stored.kind === 'bytes') {
      const rows = stored.scales.length;
      const at = this.#layout.put(this.#sized(stored.integers, rows * width, name));
      const scales = this.#layout.put(stored.scales);
      return { rows, gather: (kernels, ids, count, out) => kernels.gatherBytes(at, scales, width, ids, count, out) };
    }
    const rows = stored.rowScales.length;
    const at = this.#layout.put(this.#sized(stored.bytes, (rows * width) / 2, name));
    const scales = this.#layout.put(stored.rowScales);
    const columns = this.#layout.put(this.#sized(stored.columnScales, width, name));
    return {
      rows,
      gather: (kernels, ids, count, out) => kernels.gatherPacked(at, scales, columns, width, ids, count, out),
    };
  }

  #byteLayer(names: readonly string[], stored: readonly StoredLayer[], inputs: number): Layer {
    const [first] = stored;
    if (first === undefined) throw this.#refusal('a layer has no weights');
    const { scale, zero } = first.input;
    if (stored.some(({ input }) => input.scale !== scale || input.zero !== zero)) {
      throw this.#refusal(`${names.join(', ')} round the same input differently`);
    }
    const outputs = stored.reduce((sum, { scales }) => sum + scales.length, 0);
    const integers = joinedColumns(stored, inputs, outputs);
    this.#sized(integers, inputs * outputs, names.join(', '));
    const panels = this.#layout.packed(integers, integers.length, (kernels, from, to) =>
      kernels.packBytes(from, inputs, outputs, to),
    );
    const scales = stored.map(({ scales }) => scales.map((each) => Math.fround(each * scale)));
    const bias = stored.map(({ bias, scales }) => bias ?? new Float32Array(scales.length));
    return {
      inputs,
      outputs,
      panels,
      bias: this.#layout.put(joined(bias)),
      bytes: { scales: this.#layout.put(joined(scales)), rounding: { step: scale, zero } },
    };
  }

  #floatLayer(names: readonly string[], inputs: number): Layer {
    const weight = joined(names.map((name) => this.#floats(`${name}.weight`)));
    const bias = joined(names.map((name) => this.#floats(`${name}.bias`)));
    this.#sized(weight, inputs * bias.length, names.join(', '));
    const outputs = Math.ceil(bias.length / PANEL) * PANEL;
    const panels = this.#layout.packed(weight, outputs * inputs * FLOAT, (kernels, from, to) =>
      kernels.packFloats(from, inputs, bias.length, to),
    );
    return { inputs, outputs, panels, bias: this.#layout.put(bias, outputs * FLOAT), bytes: undefined };
  }

  #floats(name: string): Float32Array {
    const found = this.#stored.floats.get(name);
    if (found === undefined) throw this.#refusal(`lacks the tensor ${name}`);
    return found.values;
  }

  #sized<Values extends { readonly length: number }>(values: Values, length: number, name: string): Values {
    if (values.length === length) return values;
    throw this.#refusal(`${name} has ${values.length} numbers; config.json asks for ${length}`);
  }

  #refusal(reason: string): ModelFolderError {
    return new ModelFolderError(this.#file, reason);
  }
}

/** Weights [inputs, outputs] of several layers, side by side. */
function joinedColumns(layers: readonly StoredLayer[], inputs: number, outputs: number): Int8Array {
  const [only, ...others] = layers;
  if (only !== undefined && others.length === 0) return only.integers;
  const all = new Int8Array(inputs * outputs);
  let column = 0;
  for (const { integers, scales } of layers) {
    for (let input = 0; input < inputs; input += 1) {
      all.set(integers.subarray(input * scales.length, (input + 1) * scales.length), input * outputs + column);
    }
    column += scales.length;
  }
  return all;
}

function joined(parts: readonly Float32Array[]): Float32Array {
  const [only, ...others] = parts;
  if (only !== undefined && others.length === 0) return only;
  const all = new Float32Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
