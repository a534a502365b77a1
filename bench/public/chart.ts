// Draws the public results as SVG: a panel per set, a row per ranker, nDCG@10 as a dot on its 95 % interval. Colours follow
// the reader's light or dark theme by CSS.
import type { PublicResults } from './results.ts'

const ROW = 20
const TOP = 60
const LABELS = 122
const PANEL = 150
const GAP = 32

const STYLE = [
  'text{font:12px system-ui,sans-serif;fill:#1f2328}',
  '.small{font-size:10px;fill:#59636e}',
  '.grid{stroke:#d1d9e0;stroke-width:1}',
  '.other{stroke:#818b98;fill:#818b98}',
  '.ours{stroke:#0969da;fill:#0969da}',
  '.range{stroke-width:2;opacity:.45}',
  'text.name-ours{font-weight:600}',
  '@media(prefers-color-scheme:dark){text{fill:#f0f6fc}.small{fill:#9198a1}.grid{stroke:#3d444d}',
  '.other{stroke:#9198a1;fill:#9198a1}.ours{stroke:#4493f8;fill:#4493f8}}',
].join('')

/** The chart as the text of an SVG file. */
export function drawChart({ sets, rankers, figures, date }: PublicResults): string {
  const width = LABELS + sets.length * (PANEL + GAP)
  const bottom = TOP + rankers.length * ROW
  const height = bottom + 26
  const rows = rankers.map(({ name, isOurs }, index) =>
    label(LABELS - 8, rowAt(index) + 4, name, isOurs ? 'name-ours' : '', 'end'),
  )
  const panels = sets.map((set, setIndex) => {
    const left = LABELS + setIndex * (PANEL + GAP)
    const at = (percent: number) => round(left + (percent / 100) * PANEL)
    const dots = rankers.map(({ isOurs }, index) => {
      const [mean, low, high] = figures[setIndex]![index]!.full.ndcg10
      const kind = isOurs ? 'ours' : 'other'
      const y = rowAt(index)
      return [
        `<line class="range ${kind}" x1="${at(low)}" x2="${at(high)}" y1="${y}" y2="${y}"/>`,
        `<circle class="${kind}" cx="${at(mean)}" cy="${y}" r="4"><title>${escaped(rankers[index]!.name)}: ${mean.toFixed(1)}</title></circle>`,
      ].join('')
    })
    const grid = [0, 25, 50, 75, 100].map(
      (percent) =>
        `<line class="grid" x1="${at(percent)}" x2="${at(percent)}" y1="${TOP}" y2="${bottom}"/>` +
        (percent % 50 === 0 ? label(at(percent), bottom + 14, String(percent), 'small', 'middle') : ''),
    )
    const about = label(left, TOP - 8, `${set.tools} tools, ${set.queries} queries`, 'small', 'start')
    return [label(left, TOP - 22, set.name, '', 'start'), about, ...grid, ...dots].join('\n')
  })
  const title = `nDCG@10 in per cent with 95 % intervals, ${date}`
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escaped(title)}">`,
    `<style>${STYLE}</style>`,
    label(2, 14, title, 'small', 'start'),
    ...rows,
    ...panels,
    '</svg>',
  ].join('\n')}\n`
}

function rowAt(index: number): number {
  return TOP + index * ROW + ROW / 2
}

function label(x: number, y: number, text: string, kind: string, anchor: 'start' | 'middle' | 'end'): string {
  const attribute = kind === '' ? '' : ` class="${kind}"`
  return `<text${attribute} x="${x}" y="${y}" text-anchor="${anchor}">${escaped(text)}</text>`
}

function round(value: number): number {
  return Math.round(value * 10) / 10
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
}
