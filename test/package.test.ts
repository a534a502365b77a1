// The package as a user gets it: packed, installed in an empty project, run and type-checked there.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

type Packed = { filename: string; unpackedSize: number; files: { path: string }[] }

const root = fileURLToPath(new URL('..', import.meta.url))
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const tsc = join(root, 'node_modules/typescript/bin/tsc')
const minutes = 60_000

const shelf = `createShelf({
  tools: [
    { name: 'Read', description: 'Read a file', input_schema: { type: 'object' } },
    { name: 'send_message', server: 'slack', description: 'Send a message', input_schema: { type: 'object' } },
  ],
})`
const request = `{ model: 'claude-opus-4-6', max_tokens: 100, messages: [{ role: 'user', content: 'hi' }] }`

const plainUse = `
import { createShelf } from 'toolshelf'
const shelf = ${shelf}
const prepared = await shelf.prepare(${request})
console.log(JSON.stringify(prepared.request.tools.map((tool) => tool.name)))
`

const typedUse = `
import type Anthropic from '@anthropic-ai/sdk'
import { createShelf } from 'toolshelf'
import * as core from 'toolshelf/core'
import * as oracle from 'toolshelf/oracle'

export const surfaces = [core, oracle]
export async function ask(client: Anthropic): Promise<Anthropic.Message> {
  const shelf = ${shelf}
  const prepared = await shelf.prepare(${request})
  const message = await client.messages.create(prepared.request)
  const stopReason: Anthropic.StopReason | null = message.stop_reason
  console.log(stopReason)
  return message
}
`

const tsconfig = {
  compilerOptions: {
    strict: true,
    noEmit: true,
    target: 'es2023',
    lib: ['es2023', 'dom'],
    module: 'nodenext',
    types: [],
  },
  files: ['use.ts'],
}

let project: string
let packed: Packed

/** Runs a command; a failure shows everything the command printed. */
function run(command: string, args: string[], cwd: string): string {
  try {
    return execFileSync(command, args, {
      cwd,
      encoding: 'utf8',
      shell: process.platform === 'win32' && command === 'npm',
    })
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string }
    throw new Error(`${command} ${args.join(' ')} failed:\n${stdout}\n${stderr}`)
  }
}

beforeAll(() => {
  if (!existsSync(join(root, 'dist/index.js'))) run('npm', ['run', 'build'], root)
  project = mkdtempSync(join(tmpdir(), 'toolshelf-'))
  // Without --ignore-scripts, prepack would build again under the feet of the other tests.
  const output = run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', project], root)
  packed = JSON.parse(output)[0]
  writeFileSync(
    join(project, 'package.json'),
    JSON.stringify({ name: 'user', private: true, type: 'module' }),
  )
  const sdk = `@anthropic-ai/sdk@${manifest.dependencies['@anthropic-ai/sdk']}`
  const quiet = ['--no-audit', '--no-fund', '--prefer-offline', '--loglevel=error']
  run('npm', ['install', `./${packed.filename}`, sdk, ...quiet], project)
}, 3 * minutes)

afterAll(() => {
  if (project) rmSync(project, { recursive: true, force: true })
})

describe('the packed package', () => {
  test('holds the built files and papers only, and is small', () => {
    const paths = packed.files.map(({ path }) => path)
    const known =
      /^(dist\/.+\.(js|js\.map|d\.ts)|(README|CHANGELOG|ARCHITECTURE)\.md|LICENSE|data\/(meaning\.bin|NOTICE|LICENSE-APACHE-2\.0)|docs\/(guides\/)?[\w.-]+\.(json|md|svg)|examples\/script\.json|package\.json)$/
    expect(paths.filter((path) => !known.test(path) || /\.test\./.test(path))).toEqual([])
    expect(paths).toContain('dist/index.js')
    expect(packed.unpackedSize).toBeLessThan(12_000_000)
  })

  test('has a sound package.json', async () => {
    const file = readFileSync(join(project, packed.filename))
    const tarball = file.buffer.slice(file.byteOffset, file.byteOffset + file.byteLength) as ArrayBuffer
    const { messages, pkg } = await publint({ pack: { tarball }, level: 'warning' })
    expect(messages.map((message) => formatMessage(message, pkg ?? {}))).toEqual([])
  })

  test('runs from plain JavaScript', () => {
    writeFileSync(join(project, 'use.js'), plainUse)
    const names = JSON.parse(run(process.execPath, ['use.js'], project))
    expect(names).toContain('ToolSearch')
    expect(names).not.toContain('mcp__slack__send_message')
  })

  test(
    'type-checks strictly and fits the SDK',
    () => {
      writeFileSync(join(project, 'use.ts'), typedUse)
      writeFileSync(join(project, 'tsconfig.json'), JSON.stringify(tsconfig))
      expect(run(process.execPath, [tsc, '-p', '.'], project)).toBe('')
    },
    2 * minutes,
  )
})
