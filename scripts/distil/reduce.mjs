// Principal components: the directions in which the teacher's vectors differ most, and their mean.

/** Mean and the strongest `kept` directions (row by row) of the vectors at `rows`. */
export function principalComponents(vectors, rows, dimensions, kept) {
  const mean = new Float64Array(dimensions)
  for (const row of rows) {
    for (let i = 0; i < dimensions; i++) mean[i] += vectors[row * dimensions + i] / rows.length
  }
  const matrix = covariance(vectors, rows, dimensions, mean)
  const { values, directions } = eigenvectors(matrix, dimensions)
  const order = [...values.keys()].sort((a, b) => values[b] - values[a]).slice(0, kept)
  const components = new Float32Array(kept * dimensions)
  order.forEach((from, to) => {
    for (let i = 0; i < dimensions; i++) components[to * dimensions + i] = directions[i * dimensions + from]
  })
  const total = values.reduce((sum, value) => sum + value, 0)
  const explained = order.reduce((sum, index) => sum + values[index], 0) / total
  return { mean: Float32Array.from(mean), components, explained }
}

/** Centred, turned into the components and normalised, one after the other. */
export function project(vectors, rows, dimensions, { mean, components }) {
  const kept = components.length / dimensions
  const projected = new Float32Array(rows.length * kept)
  const centred = new Float32Array(dimensions)
  rows.forEach((row, index) => {
    for (let i = 0; i < dimensions; i++) centred[i] = vectors[row * dimensions + i] - mean[i]
    const out = projected.subarray(index * kept, (index + 1) * kept)
    let squares = 0
    for (let k = 0; k < kept; k++) {
      let sum = 0
      for (let i = 0; i < dimensions; i++) sum += centred[i] * components[k * dimensions + i]
      out[k] = sum
      squares += sum * sum
    }
    const norm = Math.sqrt(squares) || 1
    for (let k = 0; k < kept; k++) out[k] /= norm
  })
  return projected
}

function covariance(vectors, rows, dimensions, mean) {
  const matrix = new Float64Array(dimensions * dimensions)
  const centred = new Float64Array(dimensions)
  for (const row of rows) {
    for (let i = 0; i < dimensions; i++) centred[i] = vectors[row * dimensions + i] - mean[i]
    for (let i = 0; i < dimensions; i++) {
      const factor = centred[i]
      for (let j = i; j < dimensions; j++) matrix[i * dimensions + j] += factor * centred[j]
    }
  }
  for (let i = 0; i < dimensions; i++) {
    for (let j = 0; j < i; j++) matrix[i * dimensions + j] = matrix[j * dimensions + i]
  }
  return matrix
}

/** Jacobi's method: rotates pairs of axes until the symmetric matrix is diagonal. */
function eigenvectors(matrix, size) {
  const directions = new Float64Array(size * size)
  for (let i = 0; i < size; i++) directions[i * size + i] = 1
  for (let sweep = 0; sweep < 12; sweep++) {
    for (let p = 0; p < size - 1; p++) {
      for (let q = p + 1; q < size; q++) rotate(matrix, directions, size, p, q)
    }
  }
  return { values: Float64Array.from({ length: size }, (_, i) => matrix[i * size + i]), directions }
}

function rotate(matrix, directions, size, p, q) {
  const between = matrix[p * size + q]
  if (Math.abs(between) < 1e-12) return
  const theta = (matrix[q * size + q] - matrix[p * size + p]) / (2 * between)
  const tangent = Math.sign(theta || 1) / (Math.abs(theta) + Math.sqrt(theta * theta + 1))
  const cosine = 1 / Math.sqrt(tangent * tangent + 1)
  const sine = tangent * cosine
  for (let i = 0; i < size; i++) turn(matrix, i * size + p, i * size + q, cosine, sine)
  for (let i = 0; i < size; i++) turn(matrix, p * size + i, q * size + i, cosine, sine)
  for (let i = 0; i < size; i++) turn(directions, i * size + p, i * size + q, cosine, sine)
}

function turn(values, first, second, cosine, sine) {
  const a = values[first]
  const b = values[second]
  values[first] = cosine * a - sine * b
  values[second] = sine * a + cosine * b
}
