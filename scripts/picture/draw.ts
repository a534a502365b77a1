// Draws recorded frames as one SVG: a strip of screens that CSS moves past a window. Without animation, and for people
// who prefer reduced motion, it shows the last screen.
import type { Frame, Run, Size } from './record.ts'

const CELL = 9.2
const LINE = 19
const PADDING = 18
const FONT = 15

/** The terminal's colours, for dark and light pages. */
const DARK = {
  paper: '#16181d',
  edge: '#2c313a',
  plain: '#d9dce2',
  1: '#e0787f',
  2: '#8fce8a',
  6: '#7fd1de',
  8: '#6b7280',
}
const LIGHT = {
  paper: '#fbfbfc',
  edge: '#d5d9e0',
  plain: '#24292f',
  1: '#c0392f',
  2: '#2c7a3f',
  6: '#0b7285',
  8: '#8a919c',
}

/** Returns an SVG that plays the frames in a loop; a frame is shown until the next one, the last one for `holdMs`. */
export function draw(
  frames: readonly Frame[],
  size: Size,
  { label, holdMs }: { label: string; holdMs: number },
): string {
  const width = Math.ceil(size.columns * CELL + 2 * PADDING)
  const height = Math.ceil(size.rows * LINE + 2 * PADDING)
  const screen = size.rows * LINE
  const ids = new Map<string, string>()
  const shared: string[] = []
  const idOf = (drawn: string) => {
    const id = ids.get(drawn) ?? `r${ids.size}`
    if (!ids.has(drawn)) shared.push(`<g id="${id}">${drawn}</g>`)
    ids.set(drawn, id)
    return id
  }
  const strip = frames.map(({ rows }, frame) => {
    const uses = rows.flatMap((runs, row) => {
      if (runs.length === 0) return []
      const y = frame * screen + row * LINE
      return [`<use href="#${idOf(runs.map(drawRun).join(''))}"${y === 0 ? '' : ` y="${y}"`}/>`]
    })
    return uses.join('')
  })
  const last = (frames.length - 1) * screen
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" xml:space="preserve" aria-label="${escaped(label)}">
<style>${styles(frames, screen, holdMs)}</style>
<defs>
${shared.join('\n')}
</defs>
<rect class="paper" x=".5" y=".5" width="${width - 1}" height="${height - 1}" rx="10"/>
<clipPath id="screen"><rect width="${width - 2 * PADDING}" height="${screen}"/></clipPath>
<g transform="translate(${PADDING} ${PADDING})" clip-path="url(#screen)">
<g class="strip" transform="translate(0 -${last})">
${strip.join('\n')}
</g>
</g>
</svg>
`
}

function styles(frames: readonly Frame[], screen: number, holdMs: number): string {
  const start = frames[0]?.milliseconds ?? 0
  const total = (frames.at(-1)?.milliseconds ?? 0) - start + holdMs
  const steps = frames.map(({ milliseconds }, index) => {
    const share = (((milliseconds - start) / total) * 100).toFixed(2)
    return `${share}%{transform:translateY(-${index * screen}px)}`
  })
  const end = `100%{transform:translateY(-${(frames.length - 1) * screen}px)}`
  const colours = (palette: typeof DARK) =>
    [
      `.paper{fill:${palette.paper};stroke:${palette.edge}}`,
      `text{fill:${palette.plain}}`,
      ...([1, 2, 6, 8] as const).map((n) => `.c${n}{fill:${palette[n]}}.l${n}{stroke:${palette[n]}}`),
    ].join('')
  return [
    `text{font:${FONT}px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;white-space:pre}`,
    '.b{font-weight:700}.d{opacity:.62}path{fill:none;stroke-width:1.2}',
    colours(DARK),
    `@media(prefers-color-scheme:light){${colours(LIGHT)}}`,
    `@keyframes film{${steps.join('')}${end}}`,
    `@media(prefers-reduced-motion:no-preference){.strip{animation:film ${(total / 1000).toFixed(1)}s step-end infinite}}`,
  ].join('\n')
}

const BOX = /[╭╮╰╯│─]/
const pieces = /█+|[╭╮╰╯│]|─+|[^█╭╮╰╯│─]+/gu

/** Text as text; bars and frames as shapes, because fonts draw them with gaps. */
function drawRun({ column, text, colour, isBold, isDim }: Run): string {
  const classes = [colour === undefined ? '' : `c${colour}`, isBold ? 'b' : '', isDim ? 'd' : '']
  const look = classes.filter((name) => name !== '').join(' ')
  return [...text.matchAll(pieces)]
    .map(({ 0: piece, index }) => {
      const x = (column + index) * CELL
      if (piece.startsWith('█')) return bar(x, piece.length, look)
      if (BOX.test(piece)) return box(piece, x, colour ?? 8)
      return words(piece, x, look)
    })
    .join('')
}

const attribute = (name: string, value: string) => (value === '' ? '' : ` ${name}="${value}"`)
const rounded = (value: number) => Number(value.toFixed(1))

function words(piece: string, x: number, look: string): string {
  const text = piece.trim()
  if (text === '') return ''
  const from = x + piece.indexOf(text[0] ?? '') * CELL
  const place = `x="${rounded(from)}" y="${rounded(LINE * 0.72)}" textLength="${rounded(text.length * CELL)}"`
  return `<text ${place}${attribute('class', look)}>${escaped(text)}</text>`
}

function bar(x: number, length: number, look: string): string {
  const place = `x="${rounded(x)}" y="3" width="${rounded(length * CELL)}" height="${LINE - 6}" rx="2"`
  return `<rect ${place}${attribute('class', look)}/>`
}

function box(piece: string, x: number, colour: number): string {
  const left = rounded(x)
  const centre = rounded(x + CELL / 2)
  const right = rounded(x + CELL)
  const middle = LINE / 2
  const paths: { readonly [character: string]: string } = {
    '│': `M${centre} 0V${LINE}`,
    '╭': `M${centre} ${LINE}Q${centre} ${middle} ${right} ${middle}`,
    '╮': `M${centre} ${LINE}Q${centre} ${middle} ${left} ${middle}`,
    '╰': `M${centre} 0Q${centre} ${middle} ${right} ${middle}`,
    '╯': `M${centre} 0Q${centre} ${middle} ${left} ${middle}`,
  }
  const path = paths[piece] ?? `M${left} ${middle}H${rounded(x + piece.length * CELL)}`
  return `<path class="l${colour}" d="${path}"/>`
}

function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}
