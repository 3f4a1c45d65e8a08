import type { DeviceInformation } from '../graph/index.js';

/**
 * What the option `device` can be here: each place that the installed ONNX Runtime knows is tried with a small product,
 * which takes some hundred milliseconds and blocks the calling thread for part of them. What there is not is listed with
 * the reason. Never rejects, unless the runtime can't be loaded at all.
 */
export async function listDevices(): Promise<readonly DeviceInformation[]> {
  // An application that runs models in threads doesn't load what computes.
  const graph = await import('../graph/index.js');
  return graph.listDevices();
}
