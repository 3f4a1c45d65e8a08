import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect } from 'vitest';
import { onnxExecutor } from '../../src/graph/index.js';
import { compareStep, readOracle } from '../support/encoder-oracle.js';
import { operationsByProvider } from '../support/profiles.js';
import { describeWebGpu, itWithTime } from '../support/software-vulkan.js';

/** Encoders with operations of their own on WebGPU, in software: a training step has the gradients of transformers. */

/** Programs are compiled for some tens of seconds at first, longer on a busy machine. */
const TIMEOUT_MS = 600_000;

const recorded = fileURLToPath(new URL('../encoder/recorded', import.meta.url));

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'orchard-webgpu-'));
});
afterEach(() => rm(folder, { recursive: true }));

describeWebGpu('a training step on WebGPU', () => {
  itWithTime.each(['deberta-v3', 'modernbert'])(
    'of %s is that of transformers, and stays on the device',
    async (name) => {
      const profile = join(folder, 'profile');
      const executor = onnxExecutor({ provider: 'webgpu', profile });
      const { states, logits, gradients, worst } = await compareStep(readOracle(join(recorded, name)), executor);
      expect(Math.max(states, logits)).toBeLessThan(1e-4);
      expect(gradients, `of ${worst}`).toBeLessThan(1e-3);
      const ran = await operationsByProvider(profile);
      expect(ran.get('WebGpuExecutionProvider')?.length).toBeGreaterThan(100);
      expect(ran.get('CPUExecutionProvider') ?? []).toEqual([]);
    },
    TIMEOUT_MS,
  );
});
