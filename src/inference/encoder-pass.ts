import { ModelFolderError, messageOf } from '../contract/index.js';
import { pooledByGraph } from '../families/index.js';
import type { ModelFolderConfig } from '../models/index.js';
import type { TextWindow } from '../text/index.js';
import { ForwardPass, type PassOutput } from '../wasm/index.js';
import { checkNumbers } from './batch-work.js';

/** An encoder with its head that WebAssembly computes. It blocks the thread while it reads a window. */

interface EncoderFiles {
  readonly config: ModelFolderConfig;
  readonly configFile: string;
  /** Contents of the `.onnx` file. */
  readonly graph: Uint8Array;
  readonly graphFile: string;
}

/** @throws ModelFolderError for an encoder of another architecture, or a graph that lacks weights */
export function openPass({ config, configFile, graph, graphFile }: EncoderFiles): ForwardPass {
  const maxTokens = config.orchard.max_tokens;
  return ForwardPass.open({ config, configFile, graph, graphFile, maxTokens, ...outputOf(config) });
}

/** As the family's export writes the graph. */
function outputOf({ orchard: { family, pooling, pairs, sentence } }: ModelFolderConfig): PassOutput {
  if (sentence !== undefined) return { pooling: pooledByGraph(sentence) ?? 'none', classifier: false };
  if (family === 'Dragonfruit' && pairs === undefined) return { pooling: 'none', classifier: false };
  return { pooling, classifier: true };
}

/** Each window is read alone, so that none has padding. */
export class PassRuns {
  readonly #pass: ForwardPass;
  readonly #file: string;

  /** @param file of the graph, for messages */
  constructor(pass: ForwardPass, file: string) {
    this.#pass = pass;
    this.#file = file;
  }

  plan(windows: readonly TextWindow[]): TextWindow[][] {
    return windows.map((window) => [window]);
  }

  /** @throws ModelFolderError for outputs out of range */
  async run(run: readonly TextWindow[], _alone: boolean, computed: Map<TextWindow, Float32Array>): Promise<void> {
    for (const window of run) {
      const outputs = this.#read(window);
      checkNumbers(outputs, this.#file);
      computed.set(window, outputs);
    }
  }

  #read({ encoding }: TextWindow): Float32Array {
    try {
      return this.#pass.run(encoding);
    } catch (cause) {
      throw new ModelFolderError(this.#file, `the graph can't read a text: ${messageOf(cause)}`, { cause });
    }
  }
}
