// Records `toolshelf demo` in a real terminal and draws it as docs/demo.svg: `npm run picture`.
import { writeFileSync } from 'node:fs'
import { draw } from './draw.ts'
import { paced } from './pace.ts'
import { record } from './record.ts'

const SIZE = { columns: 88, rows: 28 }
const HOLD_MS = 7000
const label =
  'toolshelf demo in a terminal: four tasks with real MCP servers, and the input tokens with and without Toolshelf'

const frames = paced(await record('toolshelf demo', SIZE), { longestMs: 800, shortestMs: 90 })
const picture = draw(frames, SIZE, { label, holdMs: HOLD_MS })
writeFileSync(new URL('../../docs/demo.svg', import.meta.url), picture)
console.log(`docs/demo.svg: ${frames.length} frames, ${Math.round(picture.length / 1000)} kB`)
