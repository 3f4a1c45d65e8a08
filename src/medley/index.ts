export { Medley, type MedleyFailure, type MedleyResult } from './medley.js';
export type { MedleyOptions } from './medley-options.js';
export type { MedleyAnswers } from './medley-response.js';
