/** The graph of a model folder: it takes and gives what an encoder does, and where it fails, the folder is named. */
import { isOrchardError, ModelFolderError } from '../errors.js';
import type { LoadedGraph, TensorData } from '../graph/index.js';

/** What texts are fed as: two inputs that every graph has, and one for encoders that read token types. */
const INPUTS = ['attention_mask', 'input_ids'];
const TYPES = 'token_type_ids';
/** Dimensions that differ from run to run. */
const SYMBOLS = ['batch', 'tokens'];
/** Outputs for each text, or for each token. */
const MAX_OUTPUTS = 65_536;
/**
 * The largest output, positive or negative: logits and hidden states stay below 1,000. Larger ones leave float32 when
 * they are blended, and no label has a score then.
 */
const LARGEST_OUTPUT = 1e6;

/** @throws ModelFolderError if the graph is no encoder; later, if a run fails or gives what is not a number. */
export function checkedGraph(graph: LoadedGraph, path: string): LoadedGraph {
  const reason = reasonAgainst(graph);
  if (reason !== undefined) throw new ModelFolderError(path, reason);
  return {
    inputs: graph.inputs,
    outputs: graph.outputs,
    bytes: graph.bytes,
    async run(feeds, outputs) {
      try {
        await graph.run(feeds, outputs);
      } catch (cause) {
        if (isOrchardError(cause)) throw cause;
        const told = cause instanceof Error ? cause.message : String(cause);
        throw new ModelFolderError(path, `the graph can't read a text: ${told}`, { cause });
      }
      for (const output of Object.values(outputs)) checkNumbers(output, path);
    },
    release: () => graph.release(),
  };
}

function reasonAgainst({ inputs, outputs }: LoadedGraph): string | undefined {
  const names = inputs.map(({ name }) => name).sort();
  const needed = names.filter((name) => name !== TYPES);
  if (needed.join() !== INPUTS.join())
    return `the graph takes ${told(names)}, not ${INPUTS.join(', ')} and perhaps ${TYPES}`;
  const input = inputs.find(({ type, shape }) => type !== 'int64' || shape.join() !== SYMBOLS.join());
  if (input !== undefined) return `its input ${input.name} is not int64 [batch, tokens]`;
  const [output, ...more] = outputs;
  if (output?.type !== 'float32') return 'the graph has no float32 output';
  if (more.length > 0) return `the graph has ${outputs.length} outputs, not one`;
  const [first, ...others] = output.shape;
  const width = others.at(-1);
  const isWidth = typeof width === 'number' && width >= 1 && width <= MAX_OUTPUTS;
  const isRead =
    first === 'batch' && isWidth && (others.length === 1 || others.slice(0, -1).join() === 'tokens');
  if (isRead) return undefined;
  return `its output is [${told(output.shape)}], not [batch, outputs] or [batch, tokens, outputs]`;
}

const told = (names: readonly (string | number)[]): string => names.join(', ').slice(0, 200);

function checkNumbers({ data }: TensorData, path: string): void {
  if (!(data instanceof Float32Array)) return;
  for (let at = 0; at < data.length; at += 1) {
    const value = data[at] ?? 0;
    if (value >= -LARGEST_OUTPUT && value <= LARGEST_OUTPUT) continue;
    throw new ModelFolderError(path, `the graph gives ${value} for a text; its weights are damaged`);
  }
}
