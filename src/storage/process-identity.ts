export * from '../files/process-identity.js';
