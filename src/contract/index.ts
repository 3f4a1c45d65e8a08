export * from './account.js';
export * from './enumerations.js';
export * from './inference.js';
export * from './medley.js';
export * from './pretrained.js';
export * from './training-job.js';
export * from './training-request.js';
export * from './validate.js';
