export * from './account.js';
export * from './enumeration-schemas.js';
export * from './enumerations.js';
export * from './inference.js';
export * from './lists.js';
export * from './training-job.js';
export * from './training-request.js';
export * from './validate.js';
