// Draws docs/demo.svg from what `toolshelf demo` really prints: `npm run picture`.
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const WIDTH = 100
const LINE = 18
const CHARACTER = 8.4
const PADDING = 20

const root = new URL('../', import.meta.url)
const main = fileURLToPath(new URL('src/cli/main.ts', root))
const printed = execFileSync(process.execPath, ['--import', 'tsx', main, 'demo', '--plain'], {
  cwd: root,
  encoding: 'utf8',
})
const lines = `$ toolshelf demo\n${printed}`.trimEnd().split('\n').map(shortened)

writeFileSync(new URL('docs/demo.svg', root), picture(lines))
console.log(`docs/demo.svg: ${lines.length} lines`)

function shortened(line: string): string {
  return line.length > WIDTH ? `${line.slice(0, WIDTH - 1)}…` : line
}

function picture(lines: readonly string[]): string {
  const width = Math.ceil(WIDTH * CHARACTER + 2 * PADDING)
  const height = lines.length * LINE + 2 * PADDING
  const texts = lines.map((line, index) => {
    const y = PADDING + (index + 0.8) * LINE
    return `<text x="${PADDING}" y="${y.toFixed(1)}" fill="${colourOf(line)}" xml:space="preserve">${escaped(line)}</text>`
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="What toolshelf demo prints">
<rect width="100%" height="100%" rx="8" fill="#16181d"/>
<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="14">
${texts.join('\n')}
</g>
</svg>
`
}

function colourOf(line: string): string {
  if (line.startsWith('$') || line.startsWith('>')) return '#7fd1de'
  if (/^ {2}(search|load|call) /.test(line)) return '#8b93a1'
  if (/^ +(turn \d+ +)?without/.test(line)) return '#e0787f'
  if (/^ +with /.test(line)) return '#8fce8a'
  return '#d9dce2'
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
