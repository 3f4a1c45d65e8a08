import type { ExecutionProvider } from '../../device-names.js';
import { takeDeviceTurn } from '../../device-turns.js';
import { DeviceError } from '../../errors.js';

/**
 * Has the runtime work on a device. The CPU needs no turn, and what fails there is not the device's fault.
 * @throws DeviceError for whatever the runtime throws on another device.
 */
export async function deviceWork<Value>(
  provider: ExecutionProvider,
  when: DeviceError['when'],
  work: () => Promise<Value>,
): Promise<Value> {
  if (provider === 'cpu') return work();
  const done = await takeDeviceTurn(provider);
  try {
    return await work();
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new DeviceError(provider, when, reason, { cause });
  } finally {
    done();
  }
}
