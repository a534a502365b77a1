// Exports of terminal for other folders.

export { colour } from './colour.ts'
export { count, counted, duration, harmlessData, linesOf, percent, printableLine } from './format.ts'
export {
  columnsOf,
  createPen,
  fit,
  fitMiddle,
  type Look,
  type Pen,
  padEnd,
  padStart,
  rowStarts,
  wrap,
} from './pen.ts'
export { printable } from './printable.ts'
export {
  beginningOf,
  endOf,
  firstRows,
  harmless,
  lastRows,
  rowsOf,
  usable,
  visible,
  widthOf,
  wrapLines,
} from './rows.ts'
export { table } from './table.ts'
