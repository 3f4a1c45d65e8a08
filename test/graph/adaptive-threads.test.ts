import { describe, expect, it } from 'vitest';
import {
  adaptiveThreads,
  type CompiledGraph,
  Graph,
  type GraphExecutor,
  type TensorData,
  type Width,
} from '../../src/graph/index.js';

/** Milliseconds of a run for one row, by the executor's width. */
type Speeds = Readonly<Record<Width, number>>;

const ALONE: Speeds = { narrow: 466, wide: 257 };
const BESIDE_ONE: Speeds = { narrow: 472, wide: 700 };

/** A machine whose clock the runs move on, so that nothing is timed. */
class SimulatedMachine {
  speeds = ALONE;
  now = 0;
  /** Widths of the runs. */
  readonly runs: Width[] = [];
  /** Graphs that are held now, and the most at any time. */
  held = 0;
  mostHeld = 0;

  readonly executor = adaptiveThreads({
    narrow: this.#executor('narrow'),
    wide: this.#executor('wide'),
    now: () => this.now,
  });

  #executor(width: Width): GraphExecutor {
    return {
      specificationVersion: 1,
      compile: async () => {
        this.now += 80;
        this.held += 1;
        this.mostHeld = Math.max(this.mostHeld, this.held);
        return {
          run: async ({ x }) => {
            this.runs.push(width);
            this.now += this.speeds[width] * (x?.dims[0] ?? 1);
          },
          release: async () => {
            this.held -= 1;
          },
        };
      },
    };
  }
}

function graphOfRows(): Graph {
  const graph = new Graph();
  graph.output('y', graph.exp(graph.input('x', 'float32', ['batch', 2])));
  return graph;
}

function rows(count: number): TensorData {
  return { type: 'float32', dims: [count, 2], data: new Float32Array(2 * count) };
}

async function runOften(compiled: CompiledGraph, times: number): Promise<void> {
  for (let run = 0; run < times; run += 1) {
    const count = 1 + (run % 3);
    await compiled.run({ x: rows(count) }, { y: rows(count) });
  }
}

describe('an executor that adapts its threads', () => {
  it('goes back to threads that spin when the machine is free again, and holds each graph once', async () => {
    const machine = new SimulatedMachine();
    const compiled = await machine.executor.compile(graphOfRows());
    await runOften(compiled, 40);
    expect(machine.runs.filter((width) => width === 'narrow').length).toBeLessThan(4);
    machine.speeds = BESIDE_ONE;
    await runOften(compiled, 40);
    expect(machine.runs.slice(50).filter((width) => width === 'wide').length).toBeLessThan(4);
    machine.speeds = ALONE;
    await runOften(compiled, 150);
    expect(machine.runs.slice(-20).filter((width) => width === 'narrow').length).toBeLessThan(4);
    expect(machine.mostHeld).toBe(1);
    await compiled.release();
    expect(machine.held).toBe(0);
    await expect(compiled.run({ x: rows(1) }, { y: rows(1) })).rejects.toThrow('released');
  });

  it('lets a graph that runs seldom go by what another one has found', async () => {
    const machine = new SimulatedMachine();
    const early = await machine.executor.compile(graphOfRows());
    const often = await machine.executor.compile(graphOfRows());
    machine.speeds = BESIDE_ONE;
    await runOften(often, 20);
    const late = await machine.executor.compile(graphOfRows());
    machine.runs.length = 0;
    await runOften(early, 2);
    await runOften(late, 2);
    expect(machine.runs).toEqual(['narrow', 'narrow', 'narrow', 'narrow']);
  });

  it('quantizes as the wrapped one does', () => {
    const narrow: GraphExecutor = {
      specificationVersion: 1,
      quantizes: true,
      compile: () => Promise.reject(),
    };
    expect(adaptiveThreads({ narrow, wide: narrow }).quantizes).toBe(true);
  });
});
