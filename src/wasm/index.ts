export { ForwardPass, type PassOutput } from './forward-pass.js';
