// The official conformance suite as a command: what a revision of the protocol requires, and how we stand the test.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, it } from 'vitest'
import { run } from '../clients/gateway.ts'
import { prepareClients } from '../clients/install.ts'
import { bundled } from '../support/bundled.ts'

export type Revision = '2025-11-25' | '2026-07-28'

const folder = fileURLToPath(new URL('.', import.meta.url))
const command = '@modelcontextprotocol/conformance/dist/index.js'
export const clients = await prepareClients([command])

/** Passes when every scenario that the revision requires does, but for those that are expected to fail. */
export async function expectToPass(
  leg: 'server' | 'client',
  revision: Revision,
  ...words: readonly string[]
): Promise<void> {
  const results = mkdtempSync(join(tmpdir(), 'toolshelf-conformance-'))
  try {
    const expected = ['--expected-failures', `expected-failures/${revision}.yaml`, '-o', results]
    const args = [clients.file(command), leg, ...words, ...expected]
    const env = { PATH: process.env.PATH ?? '', NO_COLOR: '1' }
    const { code, out, told } = await run(clients.node, args, { cwd: folder, env })
    const verdict = out.slice(out.search(/Unexpected failures|Stale/)).trim()
    const checks = readChecks(results)
    expect(code, [verdict, told.trim().slice(-500), ...complaints(checks)].join('\n')).toBe(0)
    expect(checks.filter(({ status }) => status === 'SUCCESS')).not.toEqual([])
  } finally {
    rmSync(results, { recursive: true, force: true })
  }
}

type Check = {
  readonly scenario: string
  readonly id: string
  readonly status: string
  readonly errorMessage?: string
}

function readChecks(results: string): Check[] {
  const files = readdirSync(results, { recursive: true, encoding: 'utf8' })
  return files
    .filter((file) => basename(file) === 'checks.json')
    .flatMap((file) => {
      const checks = JSON.parse(readFileSync(join(results, file), 'utf8')) as Check[]
      return checks.map((check) => ({ ...check, scenario: dirname(file) }))
    })
}

function complaints(checks: readonly Check[]): string[] {
  return checks
    .filter(({ status }) => status === 'FAILURE' || status === 'WARNING')
    .map(({ scenario, id, status, errorMessage = '' }) => `${scenario} [${id}] ${status}: ${errorMessage}`)
}

/** Our host as a client, one scenario after the other: all at once would take longer than they may. */
export function describeHost(revision: Revision): void {
  const scenarios = clients.missing ? [] : clientScenarios(revision)
  describe.skipIf(clients.missing)(`conformance of the host to ${revision}`, { timeout: 100_000 }, () => {
    let client = ''
    beforeAll(async () => {
      const program = await bundled({ file: join(folder, 'client.ts') })
      client = `${relative(folder, clients.node)} ${relative(folder, program)}`
    })

    it.each(scenarios)('%s', async (scenario) => {
      const version = ['--spec-version', revision, '--timeout', '60000']
      await expectToPass('client', revision, '--command', client, '--scenario', scenario, ...version)
    })
  })
}

function clientScenarios(revision: Revision): string[] {
  const args = [clients.file(command), 'list', '--client', '--requirements', revision]
  const listed = execFileSync(clients.node, args, { encoding: 'utf8' })
  const [, section = ''] = listed.split(/^Client scenarios.*$/m)
  const [required = ''] = section.split(/^\S/m)
  return [...required.matchAll(/^ {2}- (\S+)/gm)].map(([, scenario = '']) => scenario)
}
