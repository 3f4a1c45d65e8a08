import { command } from '../command.js';

export const devicesCommand = command({
  name: 'devices',
  summary: 'list the devices that models can run on, and test each',
  parameters: {},
  async run({ output }) {
    const { listDevices } = await import('../../inference/index.js');
    for (const found of await listDevices()) {
      const { device, isAvailable, productMs = 0, reason = '' } = found;
      const state = isAvailable
        ? `a product of two 512×512 matrices takes ${productMs.toFixed(1)} ms`
        : `not available: ${reason.split('\n')[0]}`;
      await output.result(found, `${device.padEnd(8)}${state}`);
    }
  },
});
