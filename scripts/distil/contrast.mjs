// Contrastive loss: pulls the two sides of a pair (a name and its description) together and away from other pairs.

const TEMPERATURE = 0.06

/** Allocates buffers for one batch of pairs. */
export function contrastRoom(size, dimensions) {
  const matrix = () => new Float32Array(size * dimensions)
  const side = () => ({ vectors: matrix(), norms: new Float32Array(size), gradient: matrix() })
  return { left: side(), right: side(), errors: new Float32Array(size * size) }
}

/**
 * Adds to the rows' gradient that of the batch's cross-entropy, in both directions. `pairs`: two lists of rows each;
 * `addText(tokens, gradient)` adds a gradient to the rows of a text.
 */
export function contrast({ left, right, errors }, pairs, rows, dimensions, weight, addText) {
  const size = pairs.length
  pairs.forEach(([first, second], index) => {
    place(left, index, first, rows, dimensions)
    place(right, index, second, rows, dimensions)
  })
  findErrors(left.vectors, right.vectors, size, dimensions, errors)
  left.gradient.fill(0)
  right.gradient.fill(0)
  for (let i = 0; i < size; i++) {
    for (let j = 0; j < size; j++) {
      const error = errors[i * size + j]
      if (Math.abs(error) < 2e-3) continue
      addScaled(left.gradient, i * dimensions, right.vectors, j * dimensions, error, dimensions)
      addScaled(right.gradient, j * dimensions, left.vectors, i * dimensions, error, dimensions)
    }
  }
  pairs.forEach(([first, second], index) => {
    addText(first, throughNorm(left, index, weight, dimensions))
    addText(second, throughNorm(right, index, weight, dimensions))
  })
}

function place({ vectors, norms }, index, tokens, rows, dimensions) {
  const out = vectors.subarray(index * dimensions, (index + 1) * dimensions).fill(0)
  for (const token of tokens) for (let i = 0; i < dimensions; i++) out[i] += rows[token * dimensions + i]
  let squares = 0
  for (let i = 0; i < dimensions; i++) squares += out[i] * out[i]
  norms[index] = Math.sqrt(squares) || 1
  for (let i = 0; i < dimensions; i++) out[i] /= norms[index]
}

/** Computes the error of each probability that a left side matches a right side, and the other way round. */
function findErrors(left, right, size, dimensions, errors) {
  const ofLeft = new Float32Array(size)
  const ofRight = new Float32Array(size)
  for (let i = 0; i < size; i++) {
    for (let j = 0; j < size; j++) {
      const likelihood = Math.exp(
        (dot(left, i * dimensions, right, j * dimensions, dimensions) - 1) / TEMPERATURE,
      )
      errors[i * size + j] = likelihood
      ofLeft[i] += likelihood
      ofRight[j] += likelihood
    }
  }
  for (let i = 0; i < size; i++) {
    for (let j = 0; j < size; j++) errors[i * size + j] *= 1 / ofLeft[i] + 1 / ofRight[j]
    errors[i * size + i] -= 2
  }
}

function dot(first, from, second, to, dimensions) {
  let a = 0
  let b = 0
  for (let i = 0; i < dimensions; i += 2) {
    a += first[from + i] * second[to + i]
    b += first[from + i + 1] * second[to + i + 1]
  }
  return a + b
}

function addScaled(gradient, to, vectors, from, factor, dimensions) {
  for (let i = 0; i < dimensions; i++) gradient[to + i] += factor * vectors[from + i]
}

/** The gradient of the sum before it was normalised. */
function throughNorm({ vectors, norms, gradient }, index, weight, dimensions) {
  const slope = gradient.subarray(index * dimensions, (index + 1) * dimensions)
  const unit = vectors.subarray(index * dimensions, (index + 1) * dimensions)
  let along = 0
  for (let i = 0; i < dimensions; i++) along += slope[i] * unit[i]
  for (let i = 0; i < dimensions; i++) slope[i] = (weight * (slope[i] - along * unit[i])) / norms[index]
  return slope
}
