/** Names of where models can be computed. Beside the rooms, so that checking an option loads nothing that computes. */

/**
 * Where ONNX Runtime can compute: `cpu`; `webgpu`, any GPU by Vulkan, Metal or Direct3D 12; `cuda`, `coreml` and `dml`
 * where the installed runtime has them.
 */
export const EXECUTION_PROVIDERS = ['cpu', 'webgpu', 'cuda', 'coreml', 'dml'] as const;
export type ExecutionProvider = (typeof EXECUTION_PROVIDERS)[number];

/** The option `device`: a place by name, or `auto`, which measures. */
export const DEVICES = ['auto', ...EXECUTION_PROVIDERS] as const;
export type Device = (typeof DEVICES)[number];
