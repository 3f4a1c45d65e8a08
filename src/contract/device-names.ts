/** Names of where models can be computed. Beside the rooms, so that checking an option loads nothing that computes. */

/**
 * Where ONNX Runtime can compute: `cpu`; `webgpu`, any GPU by Vulkan, Metal or Direct3D 12; `cuda`, `coreml` and `dml`
 * where the installed runtime has them.
 */
export type ExecutionProvider = 'cpu' | 'webgpu' | 'cuda' | 'coreml' | 'dml';
export const EXECUTION_PROVIDERS = [
  'cpu',
  'webgpu',
  'cuda',
  'coreml',
  'dml',
] as const satisfies readonly ExecutionProvider[];

/** The option `device`: a place by name, or `auto`, which measures. */
export type Device = 'auto' | ExecutionProvider;
export const DEVICES = ['auto', ...EXECUTION_PROVIDERS] as const satisfies readonly Device[];
