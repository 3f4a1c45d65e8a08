import type { DeviceInformation } from '../../graph/index.js';
import { listDevices } from '../../inference/index.js';
import type { CommandRun } from '../command-definition.js';

/** `orchard devices`: tries each device that the runtime knows, and prints a line of each. */
export async function devices({ output, isJson }: CommandRun): Promise<number> {
  for (const found of await listDevices()) {
    if (isJson) await output.json(found);
    else await output.line(deviceLine(found));
  }
  return 0;
}

function deviceLine({ device, isAvailable, productMs = 0, reason = '' }: DeviceInformation): string {
  const told = isAvailable
    ? `a product of two 512×512 matrices takes ${productMs.toFixed(1)} ms`
    : `not available: ${reason.split('\n')[0]}`;
  return `${device.padEnd(8)}${told}`;
}
