import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Encoder, readEncoder, trainingInputs } from '../../../../src/encoder/index.js';
import { feedsFor, padBatch } from '../../../../src/engine/index.js';
import { type CompiledGraph, Graph, type GraphExecutor } from '../../../../src/graph/index.js';
import { decodeWeights } from '../../../../src/safetensors/index.js';
import { type Encoding, loadTokenizer, type Tokenizer } from '../../../../src/tokenizer/index.js';

const STATES = 'states';

/** The last hidden states of some texts. */
export interface TokenStates {
  readonly batch: number;
  /** Row token·batch + text: [tokens*batch, width]. */
  readonly values: Float32Array;
}

/** An encoder in Hugging Face's layout whose vectors are the student's targets. */
export class Teacher {
  private constructor(
    readonly tokenizer: Tokenizer,
    private readonly encoder: Encoder,
    private readonly compiled: CompiledGraph,
    private readonly inputNames: ReadonlySet<string>,
  ) {}

  /** Width of a vector. */
  get width(): number {
    return this.encoder.width;
  }

  /** @param folder with config.json, tokenizer.json and model.safetensors of a bare encoder. */
  static async load(folder: string, executor: GraphExecutor): Promise<Teacher> {
    const encoder = readEncoder(readJson(folder, 'config.json'), 'config.json');
    const tokenizer = loadTokenizer(
      readJson(folder, 'tokenizer.json'),
      readJson(folder, 'tokenizer_config.json'),
    );
    const bytes = readFileSync(join(folder, 'model.safetensors'));
    const tensors = decodeWeights(bytes, 'model.safetensors');
    const weights = new Map([...tensors].map(([name, { values }]) => [name, values]));
    const graph = new Graph();
    graph.output(STATES, encoder.states(graph, trainingInputs(graph), { prefix: '' }));
    const compiled = await executor.compile(graph, { weights });
    const inputNames = new Set(graph.inputs.map(({ name }) => name));
    return new Teacher(tokenizer, encoder, compiled, inputNames);
  }

  async states(encodings: readonly Encoding[]): Promise<TokenStates> {
    const padded = padBatch(encodings, this.encoder);
    const { tokens, batch } = padded.sizes;
    const dims = [tokens * batch, this.width];
    const values = new Float32Array(tokens * batch * this.width);
    const states = { type: 'float32' as const, dims, data: values };
    await this.compiled.run(feedsFor(padded, this.inputNames), { [STATES]: states });
    return { batch, values };
  }

  release(): Promise<void> {
    return this.compiled.release();
  }
}

function readJson(folder: string, file: string): unknown {
  return JSON.parse(readFileSync(join(folder, file), 'utf8'));
}
