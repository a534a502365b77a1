// Lays out areas in proportion to values, as square as possible (Bruls, Huizing and van Wijk: "Squarified Treemaps").

/** A rectangle. */
export type Area = { readonly x: number; readonly y: number; readonly width: number; readonly height: number }

/** Returns an area for each value, in the order of the values; values that are not above 0 get none. */
export function squarify(values: readonly number[], area: Area): readonly (Area | undefined)[] {
  const placed = new Array<Area | undefined>(values.length).fill(undefined)
  const order = values.map((value, index) => ({ value, index })).filter(({ value }) => value > 0)
  order.sort((a, b) => b.value - a.value || a.index - b.index)
  const sum = order.reduce((total, { value }) => total + value, 0)
  const scale = (area.width * area.height) / sum
  const sizes = order.map(({ value }) => value * scale)
  let rest = area
  for (let start = 0; start < sizes.length; ) {
    const end = rowEnd(sizes, start, Math.min(rest.width, rest.height))
    const row = sizes.slice(start, end)
    const { areas, left } = placeRow(row, rest)
    areas.forEach((one, at) => {
      placed[order[start + at]!.index] = one
    })
    rest = left
    start = end
  }
  return placed
}

/** Where the row that starts here ends: it takes more as long as that makes its worst area squarer. */
function rowEnd(sizes: readonly number[], start: number, side: number): number {
  let sum = sizes[start] ?? 0
  let worst = worstRatio(sum, sum, sum, side)
  let end = start + 1
  for (; end < sizes.length; end++) {
    const next = sizes[end] ?? 0
    const ratio = worstRatio(sizes[start] ?? 0, next, sum + next, side)
    if (ratio > worst) break
    worst = ratio
    sum += next
  }
  return end
}

function worstRatio(largest: number, smallest: number, sum: number, side: number): number {
  const square = side * side
  return Math.max((square * largest) / (sum * sum), (sum * sum) / (square * smallest))
}

function placeRow(
  row: readonly number[],
  rest: Area,
): { readonly areas: readonly Area[]; readonly left: Area } {
  const sum = row.reduce((total, size) => total + size, 0)
  const isWide = rest.width >= rest.height
  const thickness = Math.min(
    isWide ? rest.width : rest.height,
    sum / (isWide ? rest.height : rest.width) || 0,
  )
  let offset = 0
  const areas = row.map((size) => {
    const length = size / thickness || 0
    const area = isWide
      ? { x: rest.x, y: rest.y + offset, width: thickness, height: length }
      : { x: rest.x + offset, y: rest.y, width: length, height: thickness }
    offset += length
    return area
  })
  const left = isWide
    ? { ...rest, x: rest.x + thickness, width: rest.width - thickness }
    : { ...rest, y: rest.y + thickness, height: rest.height - thickness }
  return { areas, left }
}
