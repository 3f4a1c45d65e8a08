import { describe, expect, it } from 'vitest';
import { DeviceError } from '../../src/contract/errors.js';
import { classificationTask } from '../../src/families/classification/training.js';
import { type GraphExecutor, onnxExecutor } from '../../src/graph/index.js';
import { fastestOf, stepTime, trainOnDevice } from '../../src/training/choose-device.js';
import { loopInput } from '../training/loop-input.js';

const rows = Array.from({ length: 24 }, (_, row) => ({
  text: row % 2 ? 'red dog' : 'blue sea',
  labelIds: [row % 2],
}));
const dataset = { kind: 'binary', labels: ['a', 'b'], train: rows, dev: rows, warnings: [] } as const;
const input = loopInput(classificationTask(dataset, 'first'), '');

function place(device: 'cpu' | 'webgpu' | 'cuda') {
  return { device, executor: onnxExecutor() };
}

describe('auto', () => {
  const cpu = place('cpu');

  it.each([
    ['takes a device that is faster', 80, 'webgpu'],
    ['stays with the CPU where a device is hardly faster', 95, 'cpu'],
    ['stays with the CPU where a device is slower', 300, 'cpu'],
  ])('%s', async (_, ms, expected) => {
    const device = place('webgpu');
    const { device: taken } = await fastestOf([cpu, device], async (on) => (on === cpu.executor ? 100 : ms));
    expect(taken).toBe(expected);
  });

  it('takes the fastest of several', async () => {
    const [slow, fast] = [place('webgpu'), place('cuda')];
    const times = new Map<GraphExecutor, number>([
      [cpu.executor, 100],
      [slow.executor, 50],
      [fast.executor, 20],
    ]);
    const { device } = await fastestOf([cpu, slow, fast], async (on) => times.get(on) ?? 0);
    expect(device).toBe('cuda');
  });

  it('measures no steps where there is the CPU alone, and survives a device that fails', async () => {
    const never = async () => {
      throw new Error('measured');
    };
    expect((await fastestOf([cpu], never)).device).toBe('cpu');
    const failing = place('webgpu');
    const measure = async (on: GraphExecutor) => {
      if (on === failing.executor) throw new DeviceError('webgpu', 'run', 'lost');
      return 100;
    };
    expect((await fastestOf([cpu, failing], measure)).device).toBe('cpu');
  });

  it('measures steps of the very training', async () => {
    let runs = 0;
    const slow = (executor: GraphExecutor): GraphExecutor => ({
      ...executor,
      async compile(graph, options) {
        const compiled = await executor.compile(graph, options);
        return {
          release: () => compiled.release(),
          async run(feeds, outputs) {
            runs += 1;
            await new Promise((resolve) => setTimeout(resolve, 40));
            await compiled.run(feeds, outputs);
          },
        };
      },
    });
    expect(await stepTime(slow(onnxExecutor()), input)).toBeGreaterThan(30);
    expect(runs).toBe(5);
  });
});

describe('a device that fails', () => {
  const cpu = onnxExecutor();
  /** Stands for a device of another platform: the trainings here are told by what they throw. */
  const choice = { device: 'cpu', cpu, threads: 1, input } as const;

  it('as the graphs are compiled is replaced by the CPU, with a warning', async () => {
    const warnings: string[] = [];
    let trained = 0;
    const train = async () => {
      trained += 1;
      if (trained === 1) throw new DeviceError('webgpu', 'start', 'out of memory');
      return 'a model';
    };
    const outcome = await trainOnDevice({ ...choice, warn: ({ message }) => void warnings.push(message) }, train);
    expect(outcome).toEqual({ trained: 'a model', device: 'cpu' });
    expect(warnings).toEqual([expect.stringMatching(/webgpu.*out of memory.*so the CPU is used instead/)]);
  });

  it('in a step fails the run', async () => {
    const lost = new DeviceError('webgpu', 'run', 'lost');
    const train = async () => {
      throw lost;
    };
    await expect(trainOnDevice({ ...choice, warn: () => undefined }, train)).rejects.toBe(lost);
  });
});
