import { stat } from 'node:fs/promises';
import type { ExecutionProvider } from '../../contract/index.js';
import type { CompileOptions, OnnxExecutor } from '../executor.js';
import { fedTensors } from '../feeds.js';
import type { Graph } from '../graph.js';
import { checkOnnxFile } from './check-onnx-file.js';
import { FILE_LOWERING, loweringFor } from './lowering.js';
import { OnnxFile, OnnxGraph } from './onnx-graph.js';
import { OnnxMemory } from './onnx-memory.js';
import { Session } from './runtime.js';

/** Where and how ONNX Runtime computes. */
export interface OnnxExecutorOptions {
  /**
   * Default `cpu`. An executor rejects if the runtime lacks the provider, and names those that it has; where a device
   * other than the CPU fails, it rejects with a DeviceError.
   */
  readonly provider?: ExecutionProvider;
  /** Threads that one run may use on the CPU. Default 1. */
  readonly threads?: number;
  /**
   * Whether several threads go on looking for work for a while when a run has ended. The next run starts sooner, but
   * until then they keep their processors busy. Default true.
   */
  readonly idleSpinning?: boolean;
  /**
   * Whether several threads look for work actively while they wait for each other within a run. Without it a run on a
   * machine of its own takes longer, the more so the smaller its operations are. Default true.
   */
  readonly spinning?: boolean;
  /**
   * Where each graph that is released leaves the runtime's profile of its runs, which tells of each node where it ran and
   * how long: a path, which a time and `.json` are added to. Default: no profiles, since they take time.
   */
  readonly profile?: string;
}

/**
 * Runs graphs on onnxruntime-node. Feeds and outputs are used in place, without a copy, so a buffer must not
 * be touched while a run is under way; shared memory is not accepted. `run` blocks its thread: call it in a
 * worker. Threads of a process take turns on a device other than the CPU.
 */
export function onnxExecutor({
  provider = 'cpu',
  threads = 1,
  idleSpinning = true,
  spinning = true,
  profile,
}: OnnxExecutorOptions = {}): OnnxExecutor {
  const settings = { provider, threads, idleSpinning, spinning, profile };
  return {
    specificationVersion: 1,
    quantizes: true,
    ...(provider === 'webgpu' && { resident: new OnnxMemory(settings) }),
    async compile(graph: Graph, fixed: CompileOptions = {}) {
      const { lowerGraph } = await import('./to-onnx.js');
      const { model, shapeInputs } = lowerGraph(graph, fixed, loweringFor(provider));
      const session = await Session.create(model, settings, { stored: fixed.stored });
      return new OnnxGraph({ session, fed: fedTensors(graph, fixed), outputs: graph.outputs, shapeInputs });
    },
    async load(file) {
      await checkOnnxFile(file);
      const { size } = await stat(file);
      return new OnnxFile(await Session.create(await modelFor(file, provider), settings), size);
    },
  };
}

/** The file, or its bytes as the provider takes them. */
async function modelFor(file: string, provider: ExecutionProvider): Promise<string | Uint8Array> {
  if (loweringFor(provider) === FILE_LOWERING) return file;
  const { deviceModel } = await import('./device-model.js');
  return (await deviceModel(file)) ?? file;
}
