import type { Graph } from '../graph.js';
import { outputAt, type Tensor } from '../node.js';
import { broadcastAxes, broadcastShapes, dimensionAt, ShapeError, sameShape } from '../shape.js';
import type { Operation } from './operation.js';

type Binary = 'add' | 'subtract' | 'multiply' | 'divide';
type Unary = 'exp' | 'sqrt' | 'tanh' | 'sigmoid' | 'softplus';

/** Sums a gradient over the axes along which its input was broadcast. */
function unbroadcast(graph: Graph, gradient: Tensor, input: Tensor): Tensor {
  if (sameShape(gradient.shape, input.shape)) return gradient;
  const rowVector = input.shape.length === 1 && gradient.shape.length === 2;
  if (rowVector && input.shape[0] === dimensionAt(gradient.shape, 1)) return graph.columnSum(gradient);
  const axes = broadcastAxes(input.shape, gradient.shape);
  return graph.reshape(graph.reduceSum(gradient, axes, true), input.shape);
}

function binary<Name extends Binary>(
  type: string,
  gradient: (context: { graph: Graph; a: Tensor; b: Tensor; y: Tensor; dy: Tensor }) => readonly [Tensor, Tensor],
): Operation<Name> {
  return {
    describe: ([a, b]) => [{ shape: broadcastShapes(a.shape, b.shape) }],
    onnx: ({ builder, inputs, outputs }) => builder.node(type, inputs, outputs),
    gradient: ({ graph, inputs: [a, b], outputs, outputGradient: dy }) => {
      const y = outputAt(outputs, 0);
      const [da, db] = gradient({ graph, a, b, y, dy });
      return [unbroadcast(graph, da, a), unbroadcast(graph, db, b)];
    },
  };
}

function unary<Name extends Unary>(
  type: string,
  derivative: (context: { graph: Graph; x: Tensor; y: Tensor; dy: Tensor }) => Tensor,
): Operation<Name> {
  return {
    describe: ([x]) => [{ shape: x.shape }],
    onnx: ({ builder, inputs, outputs }) => builder.node(type, inputs, outputs),
    gradient: ({ graph, inputs: [x], outputs, outputGradient: dy }) => [
      derivative({ graph, x, y: outputAt(outputs, 0), dy }),
    ],
  };
}

/** y = a + b, broadcasting. */
export const add = binary<'add'>('Add', ({ dy }) => [dy, dy]);

/** y = a − b, broadcasting. */
export const subtract = binary<'subtract'>('Sub', ({ graph, dy }) => [dy, graph.scale(dy, -1)]);

/** y = a·b elementwise, broadcasting. */
export const multiply = binary<'multiply'>('Mul', ({ graph, a, b, dy }) => [
  graph.multiply(dy, b),
  graph.multiply(dy, a),
]);

/** y = a / b elementwise, broadcasting. */
export const divide = binary<'divide'>('Div', ({ graph, b, y, dy }) => [
  graph.divide(dy, b),
  graph.scale(graph.divide(graph.multiply(dy, y), b), -1),
]);

/** y = factor·x. */
export const scale: Operation<'scale'> = {
  describe: ([x]) => [{ shape: x.shape }],
  onnx: ({ builder, node, inputs, outputs }) =>
    builder.node('Mul', [...inputs, builder.floats([node.attributes.factor], [])], outputs),
  gradient: ({ graph, attributes, outputGradient: dy }) => [graph.scale(dy, attributes.factor)],
};

/** y = eˣ. */
export const exp = unary<'exp'>('Exp', ({ graph, y, dy }) => graph.multiply(dy, y));

/** y = √x; dy/dx = 1 / 2y, undefined at 0. */
export const sqrt = unary<'sqrt'>('Sqrt', ({ graph, y, dy }) => graph.scale(graph.divide(dy, y), 0.5));

/** y = tanh x; dy/dx = 1 − y². */
export const tanh = unary<'tanh'>('Tanh', ({ graph, y, dy }) =>
  graph.subtract(dy, graph.multiply(dy, graph.multiply(y, y))),
);

/** y = 1 / (1 + e⁻ˣ); dy/dx = y − y². */
export const sigmoid = unary<'sigmoid'>('Sigmoid', ({ graph, y, dy }) =>
  graph.multiply(dy, graph.subtract(y, graph.multiply(y, y))),
);

/** y = ln(1 + eˣ), stable for large |x|. */
export const softplus = unary<'softplus'>('Softplus', ({ graph, x, dy }) => graph.multiply(dy, graph.sigmoid(x)));

/**
 * y = z·c with the gate c = ½ + ½·erf(z); the second output is c. GELU(x) = √2·y at z = x/√2
 * (Hendrycks & Gimpel 2016), so the two factors fold into the linear layers around it.
 * dy/dz = c + z·e^(−z²)/√π.
 */
export const gaussianGate: Operation<'gaussianGate'> = {
  describe: ([z]) => [{ shape: z.shape }, { shape: z.shape }],
  onnx: ({ builder, inputs, outputs }) => {
    const erf = builder.fresh('erf');
    const gate = outputs.slice(1);
    builder.node('Erf', inputs, [erf]);
    // HardSigmoid(e) = clip(½·e + ½, 0, 1) is exact here, as erf lies in [−1, 1], and takes one pass over memory.
    builder.node('HardSigmoid', [erf], gate, { alpha: { float: 0.5 }, beta: { float: 0.5 } });
    builder.node('Mul', [...inputs, ...gate], outputs.slice(0, 1));
  },
  gradient: ({ graph, inputs: [z], outputs, outputGradient: dy }) => {
    return [graph.multiply(gateSlope(graph, z, outputAt(outputs, 1)), dy)];
  },
};

/** The derivative of z·c(z) by z: c + z·e^(−z²)/√π. */
function gateSlope(graph: Graph, z: Tensor, gate: Tensor): Tensor {
  const bell = graph.divide(graph.scale(z, 1 / Math.sqrt(Math.PI)), graph.exp(graph.multiply(z, z)));
  return graph.add(bell, gate);
}

/** y = x·Φ(x) (Hendrycks & Gimpel 2016); with z = x/√2, dy/dx is that of {@link gaussianGate} by z. */
export const gelu: Operation<'gelu'> = {
  describe: ([x]) => [{ shape: x.shape }],
  onnx: ({ builder, inputs, outputs }) => builder.node('Gelu', inputs, outputs),
  gradient: ({ graph, inputs: [x], outputGradient: dy }) => {
    const z = graph.scale(x, Math.SQRT1_2);
    const { source } = graph.gaussianGate(z);
    if (source.kind !== 'node') throw new ShapeError('gaussianGate makes a node');
    return [graph.multiply(gateSlope(graph, z, outputAt(source.node.outputs, 1)), dy)];
  },
};

/** 2·√(2/π): ½ + ½·tanh(u) is sigmoid(2u). */
const TANH_SLOPE = 2 * Math.sqrt(2 / Math.PI);
/** Of x³ in the approximation of GELU by tanh. */
const TANH_CUBE = 0.044715;

/**
 * y = x·(½ + ½·tanh(√(2/π)·(x + 0.044715·x³))) (Hendrycks & Gimpel 2016, their approximation). With
 * s = sigmoid(c·(x + a·x³)), y = x·s and dy/dx = s + s·(1 − s)·c·(x + 3a·x³).
 */
export const geluTanh: Operation<'geluTanh'> = {
  describe: ([x]) => [{ shape: x.shape }],
  onnx: ({ builder, inputs, outputs }) => builder.node('Gelu', inputs, outputs, { approximate: { text: 'tanh' } }),
  gradient: ({ graph, inputs: [x], outputGradient: dy }) => {
    const cube = graph.multiply(graph.multiply(x, x), x);
    const inner = graph.add(x, graph.scale(cube, TANH_CUBE));
    const s = graph.sigmoid(graph.scale(inner, TANH_SLOPE));
    const weighted = graph.scale(graph.add(x, graph.scale(cube, 3 * TANH_CUBE)), TANH_SLOPE);
    const slope = graph.add(s, graph.multiply(graph.subtract(s, graph.multiply(s, s)), weighted));
    return [graph.multiply(slope, dy)];
  },
};

/** 1 where a comparison holds and 0 elsewhere, as float32. It is constant almost everywhere: no gradient. */
function comparison<Name extends 'greater' | 'equal'>(type: string): Operation<Name> {
  return {
    describe: ([a, b]) => [{ shape: broadcastShapes(a.shape, b.shape), type: 'float32' }],
    onnx: ({ builder, inputs, outputs }) => {
      const holds = builder.computed(type, inputs);
      builder.node('Cast', [holds], outputs, { to: { int: builder.elementType('float32') } });
    },
    gradient: () => [undefined, undefined],
  };
}

/** y = 1 where a > b and 0 elsewhere, broadcasting. */
export const greater = comparison<'greater'>('Greater');

/** y = 1 where a = b and 0 elsewhere, broadcasting. */
export const equal = comparison<'equal'>('Equal');
