export type { Family, LossTargets, Scores, TaskDescription, TrainingHead, TrainingTask } from './family.js';
export { familyNamed } from './registry.js';
