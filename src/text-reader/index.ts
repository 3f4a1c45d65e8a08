export { outputsByText, type TextOutputs, type WindowOutputs } from './text-outputs.js';
export { defaultWindowOverlap, type ReadingFields, TextReader, type TextWindow } from './text-reader.js';
