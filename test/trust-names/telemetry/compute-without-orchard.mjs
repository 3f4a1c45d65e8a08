/** Makes a session of ONNX Runtime by itself: what the other scripts must not bring about. */
import { readFileSync } from 'node:fs';
import { InferenceSession } from 'onnxruntime-node';

await InferenceSession.create(readFileSync(process.argv[2]));
