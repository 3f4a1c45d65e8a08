/** The command line `orchard`: what is typed, what is printed. What it does are functions of the library. */
export { orchard } from './orchard.js';
