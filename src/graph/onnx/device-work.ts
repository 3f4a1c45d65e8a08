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
    throw new DeviceError(provider, when, reasonOf(cause), { cause });
  } finally {
    done();
  }
}

/** What the runtime says, without where in its own source it says so. */
function reasonOf(thrown: unknown): string {
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return message.replace(/^\/\S+:\d+ .* was false\. /s, '');
}
