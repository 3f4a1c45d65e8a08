import { cp, mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { ModelFolderError, messageOf } from '../contract/index.js';
import { readEncoder } from '../encoder/index.js';
import { familyOfModel } from '../families/index.js';
import { onnxPieces, restoredWeights } from '../graph/index.js';
import {
  CONFIG_FILE,
  decodeWeights,
  MAX_CONFIG_BYTES,
  type ModelFolderConfig,
  type NamedTensor,
  ONNX_FILE,
  QUANTIZED_ONNX_FILE,
  readConfig,
  readFolderFile,
  readJsonText,
  safetensorsPieces,
  WEIGHTS_FILE,
} from '../models/index.js';
import { isCheckpoint } from './checkpoint.js';
import type { CopiedWeights } from './convert-folder.js';
import { configForOthers, inferenceGraph } from './export-model.js';
import { writeCheckpoint } from './write-checkpoint.js';

/** Copies of a model folder with other weights: in float32 for other libraries, or in 8 bits alone, which take least space. */

/** Files that hold weights, and those that follow from them. */
const WEIGHTS: readonly string[] = [CONFIG_FILE, WEIGHTS_FILE, ONNX_FILE, QUANTIZED_ONNX_FILE];

type Content = string | Uint8Array | Iterable<Uint8Array>;

/**
 * Fills an empty folder with a copy of a model.
 * @throws ModelFolderError for a model that lacks what the copy needs; nothing was written then.
 */
export async function writeConvertedFolder(directory: string, output: string, weights: CopiedWeights): Promise<void> {
  const { json: given } = await readJsonText(directory, CONFIG_FILE, MAX_CONFIG_BYTES);
  if (isCheckpoint(given))
    return writeCheckpoint({ name: basename(directory), directory }, output, { files: 'all', weights });
  const config = await readConfig(directory);
  const files = await { float32: floatFiles, int8: integerFiles }[weights](directory, config);
  await cp(directory, output, { recursive: true, dereference: true });
  // Not with a filter of cp, which gets other spellings of the paths on Windows.
  for (const name of WEIGHTS) await rm(join(output, name), { force: true });
  for (const [name, content] of files) {
    await mkdir(dirname(join(output, name)), { recursive: true });
    await writeFile(join(output, name), content);
  }
}

async function floatFiles(directory: string, config: ModelFolderConfig): Promise<Map<string, Content>> {
  const file = join(directory, CONFIG_FILE);
  const encoder = readEncoder(config, file);
  const family = familyOfModel(config, file);
  const training = await family.training();
  const { graph: _, ...orchard } = config.orchard;
  const described = configForOthers({ ...config, orchard }, training);
  const graph = await inferenceGraph(family, encoder, described);
  const stored = await storedWeights(directory);
  const tensors = new Map(
    graph.parameters.map(({ name }): [string, NamedTensor] => {
      const tensor = stored.get(name);
      if (tensor !== undefined) return [name, tensor];
      throw new ModelFolderError(join(directory, WEIGHTS_FILE), `lacks the tensor ${name}`);
    }),
  );
  const values = new Map([...tensors].map(([name, tensor]) => [name, tensor.values]));
  const guards = training.companionTensors?.(encoder, described) ?? [];
  return new Map<string, Content>([
    ...(training.companions?.(encoder, described) ?? []),
    [CONFIG_FILE, json(described)],
    [WEIGHTS_FILE, safetensorsPieces(new Map([...tensors, ...guards]))],
    [ONNX_FILE, onnxPieces(graph, values)],
  ]);
}

async function integerFiles(directory: string, config: ModelFolderConfig): Promise<Map<string, Content>> {
  if (config.orchard.graph !== QUANTIZED_ONNX_FILE) {
    const reason = 'the model has only float32 weights; to get 8-bit weights, train it with `tuning.quantize`';
    throw new ModelFolderError(join(directory, QUANTIZED_ONNX_FILE), reason);
  }
  return new Map<string, Content>([
    [CONFIG_FILE, json(config)],
    [QUANTIZED_ONNX_FILE, await readFolderFile(directory, QUANTIZED_ONNX_FILE)],
  ]);
}

/** From the safetensors, or, where there are none, from the graph in 8 bits. */
async function storedWeights(directory: string): Promise<ReadonlyMap<string, NamedTensor>> {
  const names = await readdir(directory);
  if (names.includes(WEIGHTS_FILE)) {
    return decodeWeights(await readFolderFile(directory, WEIGHTS_FILE), join(directory, WEIGHTS_FILE));
  }
  try {
    return await restoredWeights(await readFolderFile(directory, QUANTIZED_ONNX_FILE));
  } catch (cause) {
    if (cause instanceof ModelFolderError) throw cause;
    const reason = messageOf(cause);
    throw new ModelFolderError(join(directory, QUANTIZED_ONNX_FILE), reason, { cause });
  }
}

const json = (value: unknown): string => `${JSON.stringify(value, undefined, 2)}\n`;
