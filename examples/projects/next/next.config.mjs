const runtime = 'node_modules/onnxruntime-node';

export default {
  output: 'standalone',
  serverExternalPackages: ['orchard-nlp', 'onnxruntime-node'],
  // Files that are loaded by name while the server runs, which the file tracer can't see.
  outputFileTracingIncludes: {
    '/*': [
      'node_modules/orchard-nlp/{package.json,dist/**/*}',
      `${runtime}/{package.json,dist/**/*}`,
      `${runtime}/bin/napi-v6/linux/x64/*`,
      'node_modules/onnxruntime-common/{package.json,dist/**/*}',
      'node_modules/@huggingface/tokenizers/{package.json,dist/**/*}',
    ],
  },
};
