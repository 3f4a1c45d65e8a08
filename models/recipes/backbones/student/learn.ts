import { learningSettings } from '../settings.js';
import type { WorkFolder } from '../work-folder.js';
import { writeCurve } from './curve.js';
import type { Student } from './student.js';

const { learningRate, warmupSteps } = learningSettings;

/** Time between two validations. */
const CHECKPOINT_MS = 300_000;

/**
 * Trains for a number of minutes, from where the last run stopped, with a checkpoint every five minutes. The
 * learning rate stays high, so that any number of runs add up; {@link anneal} finishes the training.
 */
export async function learn(student: Student, work: WorkFolder, minutes: number): Promise<void> {
  await student.restore(work.checkpoint);
  const endsAt = performance.now() + minutes * 60_000;
  const ended = () => performance.now() >= endsAt;
  const rate = () => learningRate * Math.min(1, (student.state.steps + 1) / warmupSteps);
  while (!ended()) {
    await takeSteps(student, rate, ended);
    await student.save(work.checkpoint);
    writeCurve(work.curve, student.state.curve);
  }
}

/**
 * Lets the learning rate fall to 0 over a number of steps from the last checkpoint ("cool-down", Hägele et
 * al. 2024). The result is written beside the checkpoint, from which {@link learn} can still be resumed.
 */
export async function anneal(student: Student, work: WorkFolder, count: number): Promise<void> {
  await student.restore(work.checkpoint);
  const first = student.state.steps;
  const rate = () => learningRate * (1 - (student.state.steps - first) / count);
  const ended = () => student.state.steps - first >= count;
  while (!ended()) await takeSteps(student, rate, ended);
  await student.save(work.annealed);
}

/** Steps for five minutes or until told to stop, then adds a point to the curve. */
async function takeSteps(student: Student, rate: () => number, stop: () => boolean): Promise<void> {
  const startedAt = performance.now();
  const pauseAt = startedAt + CHECKPOINT_MS;
  const first = student.state;
  let loss = 0;
  do loss += await student.step(rate());
  while (!stop() && performance.now() < pauseAt);
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
