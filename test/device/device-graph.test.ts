import { describe, expect, it } from 'vitest';
import { DeviceError, ModelFolderError } from '../../src/contract/errors.js';
import { DeviceGraph, openDeviceGraph } from '../../src/graph/device-graph.js';
import type { LoadedGraph } from '../../src/graph/index.js';
import { missing } from './tiny-jobs.js';

/** A graph that answers with what `run` says, and tells when it is released. */
function aGraph(run: () => Promise<void>, released: () => void = () => undefined): LoadedGraph {
  return { inputs: [], outputs: [], bytes: 1, run, release: async () => released() };
}

describe('the graph of a model', () => {
  it('is on the CPU, with the reason, where there is no such device', async () => {
    const opened: string[] = [];
    const graph = await openDeviceGraph(missing, async (device) => {
      opened.push(device);
      return aGraph(async () => undefined);
    });
    expect(opened).toEqual(['cpu']);
    expect(graph.use.device).toBe('cpu');
    expect(graph.use.failure).toContain(missing);
  });

  it('goes on with the CPU when its device is lost, in the run that it is lost in', async () => {
    const runs: string[] = [];
    let released = 0;
    const lost = async () => {
      runs.push('device');
      throw new DeviceError('webgpu', 'run', 'lost');
    };
    const open = async (device: string) =>
      device === 'cpu'
        ? aGraph(async () => void runs.push('cpu'))
        : aGraph(lost, () => {
            released += 1;
          });
    const graph = new DeviceGraph(await open('webgpu'), { device: 'webgpu' }, open);
    await graph.run({}, {});
    await graph.run({}, {});
    expect(runs).toEqual(['device', 'cpu', 'cpu']);
    expect(graph.use).toEqual({ device: 'cpu', failure: expect.stringContaining('lost') });
    expect(released).toBe(1);
  });

  it('fails as ever for what is no failure of a device', async () => {
    const damaged = new ModelFolderError('/m/onnx/model.onnx', 'damaged');
    const open = async () => {
      throw damaged;
    };
    await expect(openDeviceGraph('cpu', open)).rejects.toBe(damaged);
    await expect(openDeviceGraph(missing, open)).rejects.toBe(damaged);
  });
});
