// Runs the official conformance suite as a command: what a revision of the protocol requires, and whether we pass.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { isThorough } from '../../packages/testkit/src/runs.ts'
import { compiledClients, run } from '../clients/gateway.ts'
import { prepareClients } from '../clients/install.ts'
import { type ListeningClient, listen } from './client.ts'

export type Revision = '2025-11-25' | '2026-07-28'

/**
 * The gateway speaks the older revision and the host the newer one by default, the other way round with TEST_EFFORT
 * above 1 as well: each run of the suite takes four or five CPU seconds, and our own tests of both roles speak both.
 */
const usual = { gateway: '2025-11-25', host: '2026-07-28' } as const
export const isTried = (role: keyof typeof usual, revision: Revision) =>
  isThorough || usual[role] === revision

const folder = fileURLToPath(new URL('.', import.meta.url))
const command = '@modelcontextprotocol/conformance/dist/index.js'
export const clients = await prepareClients([command])

/** Runs the suite; the checks it made, by scenario, and its verdict. It fails unless what is expected to fail does. */
async function runSuite(leg: 'server' | 'client', revision: Revision, ...words: readonly string[]) {
  const results = mkdtempSync(join(tmpdir(), 'toolshelf-conformance-'))
  try {
    const expected = ['--expected-failures', `expected-failures/${revision}.yaml`, '-o', results]
    const args = [clients.file(command), leg, ...words, '--requirements', revision, ...expected]
    const env = { PATH: process.env.PATH ?? '', NO_COLOR: '1', NODE_COMPILE_CACHE: compiledClients }
    const { code, out, told } = await run(clients.node, args, { cwd: folder, env })
    const verdict = out.slice(out.search(/Unexpected failures|Stale/)).trim()
    return { code, verdict, told: told.trim().slice(-500), checks: readChecks(results) }
  } finally {
    rmSync(results, { recursive: true, force: true })
  }
}

/** For one scenario, on a machine that is busy with other work. */
const PATIENCE = ['--timeout', '90000']

type Outcome = Awaited<ReturnType<typeof runSuite>>

/** Passes when every scenario that the revision requires does, but for those that are expected to fail. */
function expectToPass({ code, verdict, told, checks }: Outcome): void {
  expect(code, [verdict, told, ...complaints(checks)].join('\n')).toBe(0)
  expect(checks.filter(({ status }) => status === 'SUCCESS')).not.toEqual([])
}

/** The gateway at an address, against all scenarios for servers. */
export async function expectServerToPass(url: string, revision: Revision): Promise<void> {
  expectToPass(await runSuite('server', revision, '--url', url, ...PATIENCE))
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
      return checks.map((check) => ({ ...check, scenario: dirname(file).replace(TIME, '') }))
    })
}

/** The suite adds it to the name of a scenario's folder. */
const TIME = /-\d{4}-\d{2}-\d{2}T[\dZ-]+$/

function complaints(checks: readonly Check[]): string[] {
  return checks
    .filter(({ status }) => status === 'FAILURE' || status === 'WARNING')
    .map(({ scenario, id, status, errorMessage = '' }) => `${scenario} [${id}] ${status}: ${errorMessage}`)
}

/** Our host as a client: the suite runs once, then a test for each scenario reads what it found. */
export function describeHost(revision: Revision): void {
  const scenarios = linesOf(`required/${revision}.txt`)
  const expected = parse(readFileSync(join(folder, `expected-failures/${revision}.yaml`), 'utf8'))
  // Windows has no named pipes.
  describe.skipIf(clients.missing || process.platform === 'win32' || !isTried('host', revision))(
    `conformance of the host to ${revision}`,
    () => {
      let client: ListeningClient
      let outcome: Outcome
      beforeAll(async () => {
        client = listen()
        const relay = `sh relay.sh ${client.folder}`
        outcome = await runSuite('client', revision, '--command', relay, ...PATIENCE)
      })
      afterAll(() => client?.close())

      it('fails nothing that it is not expected to', () => expectToPass(outcome))

      it.skipIf(!isThorough)('plays every scenario that the revision requires', () =>
        expect(scenarios).toEqual(clientScenarios(revision)),
      )

      it.each(scenarios)('%s', (scenario) => {
        const checks = outcome.checks.filter((check) => check.scenario === scenario)
        expect(checks.filter(({ status }) => status === 'SUCCESS')).not.toEqual([])
        if (expected.client.includes(scenario)) expect(complaints(checks)).not.toEqual([])
        else expect(complaints(checks)).toEqual([])
      })
    },
  )
}

const linesOf = (file: string) => readFileSync(join(folder, file), 'utf8').trim().split('\n')

/** As the suite lists them: to ask it takes a second of CPU time, and a revision's requirements no longer change. */
function clientScenarios(revision: Revision): string[] {
  const args = [clients.file(command), 'list', '--client', '--requirements', revision]
  const listed = execFileSync(clients.node, args, { encoding: 'utf8' })
  const [, section = ''] = listed.split(/^Client scenarios.*$/m)
  const [required = ''] = section.split(/^\S/m)
  return [...required.matchAll(/^ {2}- (\S+)/gm)].map(([, scenario = '']) => scenario)
}
