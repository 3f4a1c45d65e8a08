import type { Tensor } from 'onnxruntime-node';
import { emptyTensor } from '../empty-tensor.js';
import type { TensorData } from '../executor.js';
import type { Graph } from '../graph.js';
import {
  notHere,
  type ResidentCompileOptions,
  type ResidentGraph,
  type ResidentMemory,
  type ResidentTensor,
} from '../resident.js';
import { loweringFor } from './lowering.js';
import { createSession, loadRuntime, type SessionSettings } from './runtime.js';

/**
 * The memory of a WebGPU device. Its tensors are `gpu-buffer` tensors of onnxruntime-node: outputs of one session that
 * can be inputs of others. The runtime has no call that fills or reads them, so graphs that copy their input do it.
 */
export class OnnxMemory implements ResidentMemory {
  readonly #settings: SessionSettings;
  readonly #buffers = new WeakMap<ResidentTensor, Tensor>();
  /** Freed, but still held by the runtime: giving them back is work on the device, which only a run may do. */
  #freed: Tensor[] = [];
  /** Graphs that copy a tensor, by where it goes, its type and its number of axes. */
  readonly #copiers = new Map<string, Promise<ResidentGraph>>();
  /** Compiled graphs besides the copiers, which are released with the last of them. */
  #open = 0;

  constructor(settings: SessionSettings) {
    this.#settings = settings;
  }

  async upload(tensor: TensorData): Promise<ResidentTensor> {
    const copier = await this.#copier(tensor, new Set([COPY]));
    const { [COPY]: copy } = await copier.run({ [ORIGINAL]: tensor }, {});
    if (copy === undefined) throw new RangeError('a copy did not stay on the device');
    return copy;
  }

  async download(tensor: ResidentTensor): Promise<TensorData> {
    const copier = await this.#copier(tensor, new Set());
    const copy = emptyTensor(tensor.type, tensor.dims);
    await copier.run({ [ORIGINAL]: tensor }, { [COPY]: copy });
    return copy;
  }

  free(tensor: ResidentTensor): void {
    const buffer = this.#buffers.get(tensor);
    if (buffer === undefined) return;
    this.#buffers.delete(tensor);
    this.#freed.push(buffer);
  }

  async compile(graph: Graph, options: ResidentCompileOptions): Promise<ResidentGraph> {
    const compiled = await this.#compile(graph, options, () => this.#released());
    this.#open += 1;
    return compiled;
  }

  /** A handle to an output that stayed. */
  keep(buffer: Tensor, { type, dims }: Pick<ResidentTensor, 'type' | 'dims'>): ResidentTensor {
    const tensor: ResidentTensor = { location: 'device', type, dims };
    this.#buffers.set(tensor, buffer);
    return tensor;
  }

  /** @throws RangeError for a tensor of another memory, or a freed one. */
  bufferOf(tensor: ResidentTensor): Tensor {
    const buffer = this.#buffers.get(tensor);
    if (buffer === undefined) throw notHere(tensor);
    return buffer;
  }

  /** Gives the runtime back what was freed; to be called within a turn on the device. */
  giveBack(): void {
    const freed = this.#freed;
    this.#freed = [];
    for (const buffer of freed) buffer.dispose();
  }

  async #compile(
    graph: Graph,
    { stays, ...fixed }: ResidentCompileOptions,
    released: () => Promise<void>,
  ): Promise<ResidentGraph> {
    const runtime = await loadRuntime();
    const { lowerGraph } = await import('./to-onnx.js');
    const { OnnxResidentGraph } = await import('./onnx-resident-graph.js');
    const lowering = loweringFor(this.#settings.provider);
    const { model, shapeInputs } = await lowerGraph(graph, fixed, lowering);
    const places = [...graph.outputs.keys()].map(
      (name) => [name, stays.has(name) ? 'gpu-buffer' : 'cpu'] as const,
    );
    const session = await createSession(runtime, model, this.#settings, {
      stored: fixed.stored,
      preferredOutputLocation: Object.fromEntries(places),
    });
    const { provider, profile } = this.#settings;
    const profiles = profile !== undefined;
    const ways = { memory: this, runtime, session, provider, profiles, released };
    return new OnnxResidentGraph({ ...ways, graph, fixed, stays, shapeInputs });
  }

  async #released(): Promise<void> {
    this.#open -= 1;
    if (this.#open > 0) return;
    const copiers = [...this.#copiers.values()];
    this.#copiers.clear();
    for (const copier of copiers) await (await copier).release();
  }

  #copier(
    { type, dims }: Pick<TensorData, 'type' | 'dims'>,
    stays: ReadonlySet<string>,
  ): Promise<ResidentGraph> {
    const key = `${type} ${dims.length} ${stays.size}`;
    const known = this.#copiers.get(key);
    if (known !== undefined) return known;
    const copier = copying(type, dims.length).then((graph) =>
      this.#compile(graph, { stays }, async () => undefined),
    );
    this.#copiers.set(key, copier);
    return copier;
  }
}

const ORIGINAL = 'original';
const COPY = 'copy';

/** A graph that copies a tensor. What makes graphs is loaded where it is needed: models that answer come as files. */
async function copying(type: TensorData['type'], axes: number): Promise<Graph> {
  const { Graph } = await import('../graph.js');
  const graph = new Graph();
  const shape = Array.from({ length: axes }, (_, axis) => `size ${axis}`);
  graph.output(COPY, graph.input(ORIGINAL, type, shape));
  return graph;
}
