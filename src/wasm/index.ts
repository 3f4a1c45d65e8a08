export { ForwardPass, type ForwardPassOptions, type PassOutput } from './forward-pass.js';
