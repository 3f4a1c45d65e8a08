import { existsSync, readdirSync } from 'node:fs';
import { describe, it } from 'vitest';

/**
 * WebGPU without a GPU: Chromium brings SwiftShader, a Vulkan in software. To be imported before ONNX Runtime is loaded,
 * since the Vulkan loader reads the environment once.
 */

const VARIABLE = 'VK_ICD_FILENAMES';
const MESA = '/usr/share/vulkan/icd.d';

function drivers(): string[] {
  const chromium = ['/usr/lib/chromium', '/usr/lib/chromium-browser', '/usr/lib64/chromium'];
  const mesa = existsSync(MESA) ? readdirSync(MESA).filter((name) => name.startsWith('lvp_icd')) : [];
  return [...chromium.map((folder) => `${folder}/vk_swiftshader_icd.json`), ...mesa.map((name) => `${MESA}/${name}`)];
}

const loaders = ['/usr/lib/x86_64-linux-gnu', '/usr/lib/aarch64-linux-gnu', '/usr/lib64', '/usr/lib'];
const hasLoader = loaders.some((folder) => existsSync(`${folder}/libvulkan.so.1`));

/** The driver that WebGPU computes with in this test; undefined where there is none. */
export const softwareVulkan =
  process.platform === 'linux' && hasLoader
    ? (process.env[VARIABLE] ?? drivers().find((path) => existsSync(path)))
    : undefined;
if (softwareVulkan !== undefined) process.env[VARIABLE] = softwareVulkan;

/** In software a device takes a quarter of a minute to compile what a training needs: `npm run test:device` has time for all. */
export const itWithTime = process.env.DEVICE_TESTS === 'all' ? it : it.skip;

/** Tests that compute with WebGPU. Without a Vulkan in software they are skipped, and the name says why. */
export function describeWebGpu(name: string, tests: () => void): void {
  if (softwareVulkan === undefined) {
    describe.skip(`${name} (skipped: no software Vulkan; on Debian, apt-get install chromium libvulkan1)`, tests);
  } else describe(name, tests);
}
