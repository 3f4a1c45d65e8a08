export {
  defaultWindowOverlap,
  outputsByText,
  type ReadingFields,
  type TextOutputs,
  TextReader,
  type TextWindow,
  type WindowOutputs,
} from './text-reader.js';
