import { learningSettings } from '../settings.js';
import type { WorkFolder } from '../work-folder.js';
import { type CurveLabels, writeCurve } from './curve.js';
import type { Student } from './student.js';

const { learningRate, warmupSteps } = learningSettings;

/** How often the student is judged and kept. */
const CHECKPOINT_MS = 120_000;

/**
 * Learns for so many minutes from where the last run stopped, and keeps where it stands every two minutes. The learning
 * rate stays high, so that any number of runs add up; {@link anneal} brings out what was learned.
 */
export async function learn(
  student: Student,
  work: WorkFolder,
  minutes: number,
  labels: CurveLabels,
): Promise<void> {
  await student.restore(work.checkpoint);
  const endsAt = performance.now() + minutes * 60_000;
  const rate = () => learningRate * Math.min(1, (student.state.steps + 1) / warmupSteps);
  while (performance.now() < endsAt) {
    const pauseAt = Math.min(endsAt, performance.now() + CHECKPOINT_MS);
    await takeSteps(student, rate, () => performance.now() >= pauseAt);
    await student.save(work.checkpoint);
    writeCurve(work.curve, student.state.curve, labels);
  }
}

/**
 * From the last checkpoint, lets the learning rate fall to 0 over so many steps and keeps the result beside the
 * checkpoint, from which {@link learn} can go on as if nothing had been ("cool-down", Hägele et al. 2024).
 */
export async function anneal(student: Student, work: WorkFolder, count: number): Promise<void> {
  await student.restore(work.checkpoint);
  const first = student.state.steps;
  const rate = () => learningRate * (1 - (student.state.steps - first) / count);
  await takeSteps(student, rate, () => student.state.steps - first >= count);
  await student.save(work.annealed);
}

/** Steps until told to stop, then adds a point to the curve. */
async function takeSteps(student: Student, rate: () => number, stop: () => boolean): Promise<void> {
  const startedAt = performance.now();
  const first = student.state;
  let loss = 0;
  do loss += await student.step(rate());
  while (!stop());
  const ran = (performance.now() - startedAt) / 1000;
  const { steps, tokens } = student.state;
  const seconds = first.seconds + ran;
  const judged = await student.validate();
  const point = { ...judged, step: steps, seconds, tokens, loss: loss / (steps - first.steps) };
  student.addPoint(point);
  const measures = Object.entries(judged).map(([name, value]) => `${name} ${value.toFixed(4)}`);
  console.log(
    `step ${steps}, epoch ${student.state.epoch}: loss ${point.loss.toFixed(4)}, validation ` +
      `${measures.join(', ')}, ${((tokens - first.tokens) / ran).toFixed(0)} tokens/s`,
  );
}
