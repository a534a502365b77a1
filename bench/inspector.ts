// `npx tsx bench/inspector.ts [events]`: how soon the inspector's page shows a recording of 100,000 events. Starts
// `toolshelf inspect` over a file and opens it in a browser. Also prints how many bytes the page is.
import { spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync, gzipSync } from 'node:zlib'
// @ts-expect-error: plain JavaScript, part of the build
import { bundlePage } from '../scripts/build/page.mjs'
import { startBrowser } from '../test/inspector/support/browser.ts'
import { manyEvents } from '../test/inspector/support/events.ts'
import { sampleTools } from '../test/inspector/support/tools.ts'

const count = Number(process.argv[2] ?? 100_000)
const folder = await mkdtemp(join(tmpdir(), 'toolshelf-bench-'))
const main = fileURLToPath(new URL('../packages/cli/dist/main.js', import.meta.url))

async function prepare(): Promise<{ readonly file: string; readonly config: string }> {
  const [file, config] = [join(folder, 'audit.jsonl'), join(folder, 'toolshelf.json')]
  const lines = manyEvents(count, sampleTools()).map((event) => `${JSON.stringify(event)}\n`)
  await writeFile(file, lines.join(''))
  await writeFile(config, '{"mcpServers":{}}')
  return { file, config }
}

/** Starts the command; resolves to its process and the address that it prints. */
async function inspect({ file, config }: { readonly file: string; readonly config: string }) {
  const words = [main, 'inspect', file, '--no-open', '--config', config]
  const child = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'pipe'] })
  const url = await new Promise<string>((resolve, reject) => {
    let output = ''
    const read = (chunk: Buffer) => {
      output += chunk
      const found = /http:\/\/\S+#key=\S+/.exec(output)
      if (found) resolve(found[0])
    }
    child.stdout.on('data', read)
    child.stderr.on('data', read)
    child.once('exit', () => reject(new Error(output)))
  })
  return { child, url }
}

function printSizes({ script, style }: { readonly script: string; readonly style: string }): void {
  for (const [name, text] of Object.entries({ 'page.js': script, 'page.css': style }))
    console.log(
      `${name}: ${text.length} bytes, gzip ${gzipSync(text).length}, brotli ${brotliCompressSync(text).length}`,
    )
}

printSizes(await bundlePage())
const { child, url } = await inspect(await prepare())
const browser = await startBrowser()
try {
  const page = await browser.newPage({ viewport: { width: 1280, height: 860 } })
  const startedAt = performance.now()
  const passed = () => Math.round(performance.now() - startedAt)
  await page.goto(url)
  await page.locator('.pane.list .row').first().waitFor()
  const firstRow = passed()
  await page.locator('.connection.live, .connection.ended').waitFor({ timeout: 120_000 })
  const complete = passed()
  const paint = await page.evaluate('performance.getEntriesByName("first-contentful-paint")[0]?.startTime')
  const rows = await page.locator('.pane.list h2').textContent()
  console.log(`${count} events, ${rows}`)
  console.log(
    `first paint ${Math.round(Number(paint))} ms, first conversation ${firstRow} ms, all events ${complete} ms`,
  )
} finally {
  await browser.close()
  child.kill('SIGTERM')
  await rm(folder, { recursive: true, force: true })
}
