/**
 * When ONNX Runtime's matrix products give the same bits with one thread and with several. Its kernels
 * (onnxruntime/core/mlas/lib/sgemm.cpp) sum over the inner dimension block by block, and the length of a block goes by
 * the columns that one thread has. Products with more columns than rows are split by columns, all others by rows.
 */
import type { Graph } from '../graph.js';
import { type NodeOf, outputAt } from '../node.js';
import { nodesFor } from '../node-order.js';
import { innerBlocks, rowsAndColumns, rowsLast } from '../operations/matrix.js';
import type { OperationName } from '../operations/signatures.js';
import { type Dimension, resolveShape, volume } from '../shape.js';

/** Length of a block, and its columns, at first. */
const STRIDE = 128;
/** Columns are given to threads in pieces of so many. */
const PIECE = 16;

/** The sizes of a product: [rows, inner] · [inner, columns], and how many of them there are. */
interface Product {
  readonly rows: number;
  readonly columns: number;
  readonly inner: number;
  readonly count: number;
}

/** The block length of a product of so many columns. */
function blockLength(columns: number, inner: number): number {
  let length = STRIDE;
  if (columns >= inner) return Math.min(length, inner);
  for (let width = STRIDE; width > PIECE && width / 2 >= columns; width /= 2) length *= 2;
  return Math.min(length, inner);
}

/** Whether a product is the same, bit by bit, with one thread and with up to so many. */
export function isSameProduct({ rows, columns, inner, count }: Product, threads: number): boolean {
  if (rows >= columns || inner <= STRIDE || count >= threads) return true;
  const whole = blockLength(columns, inner);
  for (let parts = 2; parts <= threads; parts += 1) {
    const width = PIECE * Math.ceil(Math.ceil(columns / PIECE) / parts);
    const last = columns % width || width;
    if (blockLength(Math.min(width, columns), inner) !== whole || blockLength(last, inner) !== whole)
      return false;
  }
  return true;
}

/** The same before the sizes of the batch are known. */
interface SymbolicProduct {
  readonly rows: Dimension;
  readonly columns: Dimension;
  readonly inner: Dimension;
  readonly counts: readonly Dimension[];
}

/** @returns whether a run of a graph gives the same bits with one thread and with so many, by the sizes of its batch. */
export function sameNumbersWith(threads: number) {
  return (graph: Graph) => {
    const doubtful = productsOf(graph).filter((each) => mayDiffer(each, threads));
    return (sizes: Readonly<Record<string, number>>): boolean =>
      doubtful.every((product) => isSameProduct(resolved(product, sizes), threads));
  };
}

function resolved({ counts, ...one }: SymbolicProduct, sizes: Readonly<Record<string, number>>): Product {
  const [rows = 1, columns = 1, inner = 1] = resolveShape([one.rows, one.columns, one.inner], sizes);
  return { rows, columns, inner, count: volume(resolveShape(counts, sizes)) };
}

/** Whether a product differs for any size of the batch. */
function mayDiffer({ rows, columns, inner }: SymbolicProduct, threads: number): boolean {
  if (typeof columns !== 'number') return true;
  const fewest = typeof rows === 'number' ? rows : 1;
  const longest = typeof inner === 'number' ? inner : Number.MAX_SAFE_INTEGER;
  return !isSameProduct({ rows: fewest, columns, inner: longest, count: 1 }, threads);
}

function productsOf(graph: Graph): SymbolicProduct[] {
  return nodesFor([...graph.outputs.values()]).flatMap(
    (node) => node.visit((typed) => products[typed.operation]?.(typed)) ?? [],
  );
}

type Products = { readonly [Name in OperationName]?: (node: NodeOf<Name>) => SymbolicProduct[] };

const products: Products = {
  gemm: (node) => {
    const { inputs, attributes, outputs } = node;
    const [rows = 1, columns = 1] = outputAt(outputs, 0).shape;
    const [, inner] = rowsAndColumns(inputs[0].shape, attributes.transposeA);
    return innerBlocks(node).length > 1 ? [] : [{ rows, columns, inner, counts: [] }];
  },
  batchMatMul: ({ inputs: [a], attributes, outputs }) => {
    const [columns = 1, rows = 1, ...counts] = outputAt(outputs, 0).shape.toReversed();
    const [, inner] = rowsAndColumns(rowsLast(a.shape, attributes.rowsFirstA), attributes.transposeA);
    return [{ rows, columns, inner, counts }];
  },
};
