export { orchard } from './orchard.js';
